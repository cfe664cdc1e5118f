"""Serves a library of speech as a server for `npm run bench neural`: POST a text, get PCM of 16 bits.

peer.py kokoro-onnx PORT MODEL VOICES
peer.py sherpa-onnx PORT MODEL: a voice of Piper, with MODEL.json beside it

The packages are kokoro-onnx (which brings espeakng-loader, with the data of eSpeak NG), sherpa-onnx and onnx. Since its
version 1.13, sherpa-onnx has no phonemes of eSpeak NG, and cannot speak these voices from text.
"""

import asyncio
import json
import os
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy


def open_kokoro_onnx(model, voices):
    from kokoro_onnx import Kokoro

    library = Kokoro(model, voices)

    def speak(text, send):
        async def run():
            async for samples, _ in library.create_stream(text, voice="af_heart"):
                send(samples)

        asyncio.run(run())

    return speak


def open_sherpa_onnx(model):
    import espeakng_loader
    import onnx
    import sherpa_onnx

    with open(f"{model}.json", encoding="utf-8") as file:
        config = json.load(file)
    folder = tempfile.mkdtemp()
    tokens, described = os.path.join(folder, "tokens.txt"), os.path.join(folder, "model.onnx")
    with open(tokens, "w", encoding="utf-8") as file:
        file.writelines(f"{token} {ids[0]}\n" for token, ids in config["phoneme_id_map"].items())
    graph = onnx.load(model)
    facts = {
        "model_type": "vits",
        "comment": "piper",
        "language": "English",
        "voice": config["espeak"]["voice"],
        "has_espeak": 1,
        "n_speakers": config["num_speakers"],
        "sample_rate": config["audio"]["sample_rate"],
    }
    onnx.helper.set_model_props(graph, {key: str(value) for key, value in facts.items()})
    onnx.save(graph, described)
    vits = sherpa_onnx.OfflineTtsVitsModelConfig(
        model=described, lexicon="", tokens=tokens, data_dir=espeakng_loader.get_data_path()
    )
    threads = os.cpu_count()
    library = sherpa_onnx.OfflineTts(
        sherpa_onnx.OfflineTtsConfig(model=sherpa_onnx.OfflineTtsModelConfig(vits=vits, num_threads=threads))
    )

    def speak(text, send):
        library.generate(text, callback=lambda samples, _: send(samples) or 1)

    return speak


openers = {"kokoro-onnx": open_kokoro_onnx, "sherpa-onnx": open_sherpa_onnx}
name, port, *files = sys.argv[1:]
speak = openers[name](*files)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

        def send(samples):
            pcm = numpy.clip(numpy.asarray(samples) * 32767, -32768, 32767).astype("<i2")
            self.wfile.write(pcm.tobytes())

        speak(asked["input"], send)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
