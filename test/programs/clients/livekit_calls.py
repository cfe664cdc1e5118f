"""The calls of a plugin of LiveKit, which the argument names. The plugin decodes the audio."""

import sys

import aiohttp
from livekit.agents import tokenize, tts
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT
from livekit.plugins import cartesia, elevenlabs, openai
from ten_calls import given, run, sound

plugin = sys.argv[1]
FORMATS = {
    "elevenlabs": ["mp3_44100_128", "opus_48000_64", "pcm_24000"],
    "cartesia": [16000, 44100],
    "openai": ["mp3", "opus", "aac", "flac", "wav", "pcm"],
}[plugin.split("-")[0]]


def open_plugin(session, key=given.key, voice="clara", form=None, speed=None):
    more = {"speed": speed} if speed else {}
    if plugin == "openai":
        more |= {"response_format": form} if form else {}
        return openai.TTS(base_url=given.url + "/v1", api_key=key, voice=voice, **more)
    if plugin == "cartesia":
        more |= {"sample_rate": form} if form else {}
        return cartesia.TTS(base_url=given.url, api_key=key, voice=voice, http_session=session, **more)
    more = {"voice_settings": elevenlabs.VoiceSettings(0.5, 0.5, speed=speed)} if speed else {}
    more |= {"encoding": form} if form else {}
    more |= {"model": "eleven_v3"} if plugin == "elevenlabs-dialogue" else {}
    return elevenlabs.TTS(base_url=given.url + "/v1", api_key=key, voice_id=voice, http_session=session, **more)


async def speak(text=given.text, **more):
    async with aiohttp.ClientSession() as session, open_plugin(session, **more) as speech:
        frame = await speech.synthesize(text).collect()
        return sound(f"s16le {frame.sample_rate}", bytes(frame.data))


async def converse(text=given.text, is_interrupted=False, **more):
    """Speaks a text word by word. Returns the frames."""
    async with aiohttp.ClientSession() as session, open_plugin(session, **more) as speech:
        if plugin == "openai":
            # An agent streams to a plugin that speaks whole texts in this way.
            speech = tts.StreamAdapter(tts=speech, sentence_tokenizer=tokenize.blingfire.SentenceTokenizer())
        frames = []
        async with speech.stream() as stream:
            for word in text.split(" "):
                stream.push_text(word + " ")
            stream.end_input()
            async for event in stream:
                frames.append(event.frame)
                if is_interrupted:
                    break
        return frames


async def stream():
    frames = await converse()
    return sound(f"s16le {frames[0].sample_rate}", *(bytes(frame.data) for frame in frames))


async def times():
    words = [word for frame in await converse() for word in frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, [])]
    return [[str(word), float(word.start_time), float(word.end_time)] for word in words]


async def voices():
    async with aiohttp.ClientSession() as session, open_plugin(session) as speech:
        return [voice.id for voice in await speech.list_voices()]


# A single sentence, because the adapter sends each sentence in a request of its own, which may end early.
sentence = given.long.replace(".", ",") + "as you see."
run(
    speak,
    forms=FORMATS,
    interrupt=lambda: converse(sentence, is_interrupted=True),
    stream=stream,
    times=times,
    voices=voices,
    invalid=lambda: speak(speed=9),
    stream_of_unknown_voice=lambda: converse(voice="nobody"),
)
