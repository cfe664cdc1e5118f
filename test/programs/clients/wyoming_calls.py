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


PORTS = {given.key: given.port, given.limited: given.limited_port, "snt_wrong": given.wrong_port}


async def speak(key=given.key, voice="clara", text=given.text, form=None):
    if form == "SSML in pieces":
        return await speak_pieces(f"<speak>{text}</speak>", text_format=SSML)
    more = {"text": f"<speak>{text}</speak>", "text_format": SSML} if form else {"text": text}
    async with connect(PORTS[key]) as client:
        await client.write_event(Synthesize(voice=SynthesizeVoice(name=voice), **more).event())
        return await listen(client, AudioStop)


async def speak_pieces(text=given.text, **more):
    async with connect() as client:
        await client.write_event(SynthesizeStart(voice=CLARA, **more).event())
        for piece in text.split(" "):
            await client.write_event(SynthesizeChunk(text=piece + " ").event())
        await client.write_event(SynthesizeStop().event())
        return await listen(client, SynthesizeStopped)


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


run(
    speak,
    forms=["SSML", "SSML in pieces"],
    interrupt=interrupt,
    stream=speak_pieces,
    voices=voices,
    invalid=lambda: speak(text="This is <b>not closed.", form="SSML"),
)
