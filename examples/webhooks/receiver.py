# Receives webhooks, and verifies them with Python alone; the package `standardwebhooks` can do this too.
#     WEBHOOK_SECRET=whsec_... python3 receiver.py 3000
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = os.environ["WEBHOOK_SECRET"].split()
TOLERANCE_SECONDS = 300
# A message may arrive twice, with the same id. Store the ids with the results of your service.
seen = set()


def verify(body: bytes, headers) -> dict:
    """The event; a ValueError if it was not signed with one of the secrets, or long ago."""
    signed_at = headers.get("webhook-timestamp", "")
    if not signed_at.isdigit() or abs(time.time() - int(signed_at)) > TOLERANCE_SECONDS:
        raise ValueError("the timestamp is not of now")
    content = f"{headers.get('webhook-id')}.{signed_at}.".encode() + body
    given = headers.get("webhook-signature", "").split()
    for secret in SECRETS:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        if any(hmac.compare_digest(expected, one) for one in given):
            return json.loads(body)
    raise ValueError("no signature matches")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = verify(body, self.headers)
        except ValueError as error:
            print(f"refused: {error}", flush=True)
            self.send_response(400)
            self.end_headers()
            return
        # Answer within 15 seconds, and do the work afterwards.
        self.send_response(204)
        self.end_headers()
        if self.headers["webhook-id"] in seen:
            return
        seen.add(self.headers["webhook-id"])
        print(event["type"], event["data"]["id"], flush=True)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print("receiving", flush=True)
server.serve_forever()
