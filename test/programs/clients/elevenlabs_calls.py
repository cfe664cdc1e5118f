"""The calls of ElevenLabs' client. The argument `realtime` chooses its WebSocket for speech."""

import sys

from elevenlabs import VoiceSettings
from elevenlabs.client import ElevenLabs
from ten_calls import given, run, sound

FORMS = {"opus": "ogg", "pcm": "s16le", "ulaw": "mulaw"}
is_realtime = "realtime" in sys.argv


def client(key=given.key):
    return ElevenLabs(base_url=given.url, api_key=key)


def pieces(key=given.key, voice="clara", text=given.text, **more):
    speech = client(key).text_to_speech
    if is_realtime:
        words = (word + " " for word in text.split(" "))
        return speech.convert_realtime(voice, text=words, model_id="eleven_flash_v2_5", **more)
    return speech.convert(voice, text=text, **more)


def speak(form=None, **more):
    name, rate = (form or "mp3_").split("_")[:2]
    kind = FORMS.get(name, name)
    output = {"output_format": form} if form else {}
    return sound(kind if kind in ("mp3", "ogg", "wav") else f"{kind} {rate}", *pieces(**output, **more))


def stream():
    if is_realtime:
        return speak("pcm_24000")
    return sound("mp3", *client().text_to_speech.stream("clara", text=given.text))


def times():
    found = client().text_to_speech.convert_with_timestamps("clara", text=given.text).alignment
    starts, ends = found.character_start_times_seconds, found.character_end_times_seconds
    words, at = [], 0
    for word in "".join(found.characters).split(" "):
        words.append([word, starts[at], ends[at + len(word) - 1]])
        at += len(word) + 1
    return words


def interrupt():
    speech = pieces(text=given.long, output_format="pcm_24000")
    next(speech)
    speech.close()


run(
    speak,
    forms=["mp3_22050_32", "pcm_16000", "pcm_44100", "opus_48000_64", "ulaw_8000", "alaw_8000", "wav_24000"],
    interrupt=interrupt,
    stream=stream,
    times=times,
    voices=lambda: [voice.voice_id for voice in client().voices.get_all().voices],
    invalid=lambda: speak(voice_settings=VoiceSettings(speed=99)),
)
