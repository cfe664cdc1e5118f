"""Speaks three turns of three sentences with a plugin of LiveKit, as an agent does; the second turn is interrupted.

Arguments: the plugin, the URL of the gateway, the API key and the voice. Prints what the agent received as JSON, up
to the first error.
"""

import asyncio
import json
import sys
import time

import aiohttp
from livekit.agents import APIError, tokenize, tts
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT
from livekit.plugins import cartesia, elevenlabs, openai

plugin, url, key, voice = sys.argv[1:]
TURNS = json.load(sys.stdin)


def open_plugin(session):
    if plugin == "elevenlabs":
        return elevenlabs.TTS(base_url=url + "/v1", api_key=key, voice_id=voice, http_session=session)
    if plugin == "elevenlabs-dialogue":
        address = url + "/v1"
        return elevenlabs.TTS(base_url=address, api_key=key, voice_id=voice, model="eleven_v3", http_session=session)
    if plugin == "cartesia":
        return cartesia.TTS(base_url=url, api_key=key, voice=voice, http_session=session)
    whole = openai.TTS(base_url=url + "/v1", api_key=key, voice=voice)
    # An agent streams to a plugin that speaks whole texts in this way.
    return tts.StreamAdapter(tts=whole, sentence_tokenizer=tokenize.blingfire.SentenceTokenizer())


async def speak(speech, sentences, is_interrupted):
    turn = {"samples": 0, "rate": 0, "words": [], "first": None}
    asked = time.monotonic()
    async with speech.stream() as stream:
        for token in " ".join(sentences).split(" "):
            stream.push_text(token + " ")
        stream.end_input()
        async for event in stream:
            frame = event.frame
            turn["samples"] += frame.samples_per_channel
            turn["rate"] = frame.sample_rate
            turn["first"] = turn["first"] or time.monotonic() - asked
            for word in frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, []):
                times = [t for t in (word.start_time, word.end_time) if isinstance(t, float)]
                turn["words"].append([str(word), *times])
            if is_interrupted:
                break
    return turn


async def main():
    errors = []
    async with aiohttp.ClientSession() as session:
        speech = open_plugin(session)
        speech.on("error", lambda error: errors.append(str(error.error)))
        turns = []
        try:
            for i, sentences in enumerate(TURNS):
                turns.append(await speak(speech, sentences, i == 1))
        except APIError as error:
            errors.append(f"{type(error).__name__}: {error}")
        await speech.aclose()
    print(json.dumps({"turns": turns, "errors": errors}))


asyncio.run(main())
