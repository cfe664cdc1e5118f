"""The calls of Wyoming's client, which Home Assistant uses. An error is an event with a code."""

from ten_calls import given, run, sound
from wyoming.audio import AudioChunk, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeTextFormat,
    SynthesizeVoice,
)

CLARA = SynthesizeVoice(name="clara")
DOCUMENT = f"<speak>{given.text}</speak>"
SSML = SynthesizeTextFormat.SSML


def connect(port=given.port):
    return AsyncTcpClient("127.0.0.1", port)


async def listen(client, end):
    heard, rate = [], None
    while (event := await client.read_event()) is not None:
        if AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            heard, rate = [*heard, chunk.audio], chunk.rate
        elif Error.is_type(event.type):
            error = Error.from_event(event)
            return {"refused": error.code, "message": error.text}
        elif end.is_type(event.type):
            return sound(f"s16le {rate}", *heard)
    return None


async def speak(text=given.text, port=given.port, voice=CLARA, **more):
    async with connect(port) as client:
        await client.write_event(Synthesize(text=text, voice=voice, **more).event())
        return await listen(client, AudioStop)


async def speak_pieces(text=given.text, **more):
    async with connect() as client:
        await client.write_event(SynthesizeStart(voice=CLARA, **more).event())
        for piece in text.split(" "):
            await client.write_event(SynthesizeChunk(text=piece + " ").event())
        await client.write_event(SynthesizeStop().event())
        return await listen(client, SynthesizeStopped)


async def whole():
    return await speak()


async def stream():
    return await speak_pieces()


async def formats():
    pieces = await speak_pieces(DOCUMENT, text_format=SSML)
    return {"SSML": await speak(DOCUMENT, text_format=SSML), "SSML in pieces": pieces}


async def voices():
    async with connect() as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        return [voice.name for program in info.tts for voice in program.voices]


async def interrupt():
    async with connect() as client:
        await client.write_event(Synthesize(text=given.long, voice=CLARA).event())
        await client.read_event()
        await client.read_event()
    return {"late": 0, "next": await speak()}


async def invalid():
    return await speak("<speak>This is <b>not closed.</speak>", text_format=SSML)


async def unknown_voice():
    return await speak(voice=SynthesizeVoice(name="nobody"))


async def wrong_key():
    return await speak(port=given.wrong_port)


async def quota():
    await speak(port=given.limited_port)
    return await speak(port=given.limited_port)


async def too_long():
    return await speak(given.long, given.limited_port)


run(whole, stream, formats, voices, interrupt, invalid, unknown_voice, wrong_key, quota, too_long)
