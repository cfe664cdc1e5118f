# Reads a stream of Server-Sent Events, and resumes it if the connection is lost.
import base64
import http.client
import json
import os
import urllib.error
import urllib.request

address = "http://127.0.0.1:8080/api/audio/speech/sse"
key = {"X-API-Key": os.environ["SONANT_API_KEY"]}


def events(request):
    """The events of one connection, each as id and data."""
    event_id = data = None
    with urllib.request.urlopen(request, timeout=60) as answer:
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                event_id = value
            elif name == "data":
                data = json.loads(value)
            elif name == "" and data:
                yield event_id, data
                data = None


def speak(body):
    """The audio, each byte once and in order, over as many connections as it takes."""
    headers = {**key, "Content-Type": "application/json"}
    request = urllib.request.Request(address, data=json.dumps(body).encode(), headers=headers)
    last = None
    for _ in range(5):
        try:
            for last, data in events(request):
                if data["type"] == "speech.audio.delta":
                    yield base64.b64decode(data["audio"])
                elif data["type"] == "error":
                    raise SystemExit(f"{data['error']}: {data['message']}")
                elif data["type"] == "speech.audio.done":
                    return
        except urllib.error.HTTPError as error:
            raise SystemExit(json.load(error)["message"])
        except (OSError, http.client.HTTPException):
            if last is None:
                raise
        request = urllib.request.Request(f"{address}/{last.split(':')[0]}", headers={**key, "Last-Event-ID": last})
    raise SystemExit("cut too often")


with open("events.mp3", "wb") as file:
    for piece in speak({"voice_id": "milo", "text": "Every piece of this arrives once.", "output_format": "mp3"}):
        file.write(piece)
