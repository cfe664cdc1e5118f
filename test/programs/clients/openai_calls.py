"""The calls of OpenAI's client."""

from openai import OpenAI
from ten_calls import given, run, sound

FORMS = {"opus": "ogg", "pcm": "s16le 24000"}


def client(key=given.key):
    return OpenAI(base_url=given.url + "/v1", api_key=key)


def speak(key=given.key, voice="clara", text=given.text, form=None, **more):
    more |= {"response_format": form} if form else {}
    answer = client(key).audio.speech.create(model="tts-1", voice=voice, input=text, **more)
    return sound(FORMS.get(form, form or "mp3"), answer.read())


def open_stream(text):
    request = {"model": "tts-1", "voice": "clara", "input": text, "response_format": "pcm"}
    return client().audio.speech.with_streaming_response.create(**request)


def stream():
    with open_stream(given.text) as answer:
        return sound("s16le 24000", *answer.iter_bytes())


def interrupt():
    with open_stream(given.long) as answer:
        next(answer.iter_bytes(1024))


run(
    speak,
    forms=["mp3", "opus", "aac", "flac", "wav", "pcm"],
    interrupt=interrupt,
    stream=stream,
    voices=lambda: [voice["id"] for voice in client().get("/audio/voices", cast_to=object)["voices"]],
    invalid=lambda: speak(speed=9),
)
