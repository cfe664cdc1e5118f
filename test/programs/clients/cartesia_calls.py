"""The calls of Cartesia's client."""

from cartesia import Cartesia
from ten_calls import given, run, sound

VOICE = {"mode": "id", "id": "clara"}
RAW = {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000}
ENCODINGS = {"pcm_s16le": "s16le", "pcm_f32le": "f32le", "pcm_mulaw": "mulaw", "pcm_alaw": "alaw"}


def client(key=given.key):
    return Cartesia(base_url=given.url, api_key=key)


def speak(key=given.key, voice="clara", text=given.text, form="wav pcm_s16le", rate=24000):
    container, encoding = form.split(" ")
    output = {"container": container, "encoding": encoding, "sample_rate": rate}
    if container == "mp3":
        output = {"container": "mp3", "sample_rate": rate, "bit_rate": int(encoding)}
    request = {"model_id": "sonic-3", "transcript": text, "voice": {"mode": "id", "id": voice}, "output_format": output}
    kind = f"{ENCODINGS[encoding]} {rate}" if container == "raw" else container
    return sound(kind, client(key).tts.generate(**request).read())


def converse(connection, voice=VOICE, text=given.text):
    """Speaks a text word by word. Returns the context and its events."""
    context = connection.context(model_id="sonic-3", voice=voice, output_format=RAW, add_timestamps=True)
    for word in text.split(" "):
        context.push(word + " ")
    context.no_more_inputs()
    return context, context.receive()


def audio_of(events):
    return sound("s16le 24000", *(event.audio for event in events if event.type == "chunk"))


def stream():
    with client().tts.websocket_connect() as connection:
        return audio_of(converse(connection)[1])


def times():
    with client().tts.websocket_connect() as connection:
        found = [event.word_timestamps for event in converse(connection)[1] if event.type == "timestamps"]
    return [word for part in found for word in zip(part.words, part.start, part.end)]


def interrupt():
    with client().tts.websocket_connect() as connection:
        context, events = converse(connection, text=given.long)
        next(event for event in events if event.type == "chunk")
        context.cancel()
        following, _ = converse(connection)
        heard, late, is_over = [], 0, False
        for event in connection:
            if event.context_id == following._context_id:
                heard.append(event)
                if event.type == "done":
                    break
            elif event.type == "done":
                is_over = True
            elif is_over:
                late += 1
    return {"late": late, "next": audio_of(heard)}


def stream_of_unknown_voice():
    """The client yields an error as an event."""
    with client().tts.websocket_connect() as connection:
        event = list(converse(connection, {"mode": "id", "id": "nobody"})[1])[-1]
        return {"refused": event.type, "message": event.error}


run(
    speak,
    forms=["mp3 128000", *(f"{container} {encoding}" for container in ["wav", "raw"] for encoding in ENCODINGS)],
    interrupt=interrupt,
    stream=stream,
    times=times,
    voices=lambda: [voice.id for voice in client().voices.list()],
    invalid=lambda: speak(rate=1),
    stream_of_unknown_voice=stream_of_unknown_voice,
)
