"""Speaks with Wyoming's own client: a text, an SSML document, a document in pieces, and an unknown voice.

Arguments: the port and the voice. Prints the bytes of each audio and the error as JSON.
"""

import asyncio
import json
import sys

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

port, voice = int(sys.argv[1]), SynthesizeVoice(name=sys.argv[2])
DOCUMENT = '<speak>Good <break time="1s"/> morning.</speak>'


async def listen(client, end):
    heard = 0
    while (event := await client.read_event()) is not None:
        if AudioChunk.is_type(event.type):
            heard += len(AudioChunk.from_event(event).audio)
        elif Error.is_type(event.type):
            return Error.from_event(event).code
        elif end.is_type(event.type):
            return heard
    return None


async def main():
    async with AsyncTcpClient("127.0.0.1", port) as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        answer = {"voices": [each.name for program in info.tts for each in program.voices]}
        await client.write_event(Synthesize(text="Good morning.", voice=voice).event())
        answer["plain"] = await listen(client, AudioStop)
        document = Synthesize(text=DOCUMENT, voice=voice, text_format=SynthesizeTextFormat.SSML)
        await client.write_event(document.event())
        answer["document"] = await listen(client, AudioStop)
        start = SynthesizeStart(voice=voice, text_format=SynthesizeTextFormat.SSML)
        await client.write_event(start.event())
        for piece in DOCUMENT.split(" "):
            await client.write_event(SynthesizeChunk(text=piece + " ").event())
        await client.write_event(SynthesizeStop().event())
        answer["pieces"] = await listen(client, SynthesizeStopped)
        await client.write_event(Synthesize(text="Who?", voice=SynthesizeVoice(name="nobody")).event())
        answer["error"] = await listen(client, AudioStop)
    print(json.dumps(answer))


asyncio.run(main())
