"""A small web service around eSpeak NG: Flask on its own server, or FastAPI on uvicorn; the library in its process, MP3 by PyAV.

`python3 python_peer.py flask|fastapi PORT`. POST /speech {"text", "rate", "format": "pcm"|"mp3"} answers with the sound, and
GET /cpu with the milliseconds of CPU that the process has used. It has no keys, no limits, no log and no cache.
"""

import ctypes
import sys
import threading
import time

import av
import numpy

LIBRARY_RATE = 22050
MP3_BITS_PER_SECOND = 64000
SYNCHRONOUS = 2
FLAGS = 0x1101
RATE, VOLUME = 1, 2
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)

library = ctypes.CDLL("libespeak-ng.so.1")
# The library speaks one text at a time.
lock = threading.Lock()
pieces = []


def hear(samples, count, _events):
    if samples and count > 0:
        pieces.append(ctypes.string_at(samples, 2 * count))
    return 0


heard = CALLBACK(hear)
library.espeak_Initialize(SYNCHRONOUS, 100, None, 0)
library.espeak_SetSynthCallback(heard)
library.espeak_SetVoiceByName(b"gmw/en-US")
library.espeak_SetParameter(RATE, 175, 0)
library.espeak_SetParameter(VOLUME, 80, 0)


def say(text):
    data = text.encode() + b"\0"
    with lock:
        pieces.clear()
        library.espeak_Synth(data, len(data), 0, 1, 0, FLAGS, None, None)
        return b"".join(pieces)


def sound_of(text, rate, kind):
    pcm = say(text)
    if rate == LIBRARY_RATE and kind == "pcm":
        return pcm
    frame = av.AudioFrame.from_ndarray(numpy.frombuffer(pcm, numpy.int16).reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate = LIBRARY_RATE
    if kind == "pcm":
        resampler = av.AudioResampler(format="s16", layout="mono", rate=rate)
        frames = resampler.resample(frame) + resampler.resample(None)
        return b"".join(each.to_ndarray().tobytes() for each in frames)
    codec = av.CodecContext.create("libmp3lame", "w")
    codec.sample_rate, codec.layout, codec.format, codec.bit_rate = rate, "mono", "s16p", MP3_BITS_PER_SECOND
    codec.open()
    resampler = av.AudioResampler(format="s16p", layout="mono", rate=rate, frame_size=codec.frame_size)
    packets = []
    for each in resampler.resample(frame) + resampler.resample(None) + [None]:
        packets += codec.encode(each)
    return b"".join(bytes(packet) for packet in packets)


def serve_flask(port):
    import logging

    from flask import Flask, Response, request

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = Flask(__name__)

    @app.post("/speech")
    def speech():
        asked = request.get_json()
        return Response(sound_of(asked["text"], asked["rate"], asked["format"]), mimetype="audio/pcm")

    @app.get("/cpu")
    def cpu():
        return str(1000 * time.process_time())

    app.run(host="127.0.0.1", port=port, threaded=True)


def serve_fastapi(port):
    import uvicorn
    from fastapi import FastAPI, Response
    from pydantic import BaseModel

    class Asked(BaseModel):
        text: str
        rate: int
        format: str

    app = FastAPI()

    @app.post("/speech")
    def speech(asked: Asked):
        return Response(sound_of(asked.text, asked.rate, asked.format), media_type="audio/pcm")

    @app.get("/cpu")
    def cpu():
        return 1000 * time.process_time()

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


{"flask": serve_flask, "fastapi": serve_fastapi}[sys.argv[1]](int(sys.argv[2]))
