"""The calls of OpenAI's client."""

from openai import OpenAI
from ten_calls import given, run, sound

FORMS = {"opus": "ogg", "pcm": "s16le 24000"}


def client(key=given.key):
    return OpenAI(base_url=given.url + "/v1", api_key=key)


def speak(key=given.key, voice="clara", text=given.text, **more):
    answer = client(key).audio.speech.create(model="tts-1", voice=voice, input=text, **more)
    form = more.get("response_format", "mp3")
    return sound(FORMS.get(form, form), answer.read())


def open_stream(text):
    request = {"model": "tts-1", "voice": "clara", "input": text, "response_format": "pcm"}
    return client().audio.speech.with_streaming_response.create(**request)


def whole():
    return speak()


def stream():
    with open_stream(given.text) as answer:
        return sound("s16le 24000", *answer.iter_bytes())


def formats():
    return {form: speak(response_format=form) for form in ["mp3", "opus", "aac", "flac", "wav", "pcm"]}


def voices():
    return [voice["id"] for voice in client().get("/audio/voices", cast_to=object)["voices"]]


def interrupt():
    with open_stream(given.long) as answer:
        next(answer.iter_bytes(1024))
    return {"late": 0, "next": speak()}


def invalid():
    return speak(speed=9)


def unknown_voice():
    return speak(voice="nobody")


def wrong_key():
    return speak(key="sk-wrong")


def quota():
    speak(key=given.limited)
    return speak(key=given.limited)


def too_long():
    return speak(key=given.limited, text=given.long)


run(whole, stream, formats, voices, interrupt, invalid, unknown_voice, wrong_key, quota, too_long)
