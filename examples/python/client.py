"""Speaks with Sonant over gRPC: a text into a file, a stream, live speech, and calls that fail on purpose.

The API key comes from SONANT_API_KEY, the address from the first argument; it begins with https:// for TLS.
"""

import hashlib
import os
import sys
import time

import grpc
from google.rpc import error_details_pb2, status_pb2
from sonant.v1 import speech_pb2, speech_pb2_grpc

# Every call has a deadline, without which a call to an unreachable machine may wait forever.
DEADLINE_SECONDS = 30


def main(address):
    key = [("x-api-key", os.environ.get("SONANT_API_KEY", ""))]
    # All calls of a program share one channel.
    secure, host = address.startswith("https://"), address.removeprefix("https://")
    with grpc.secure_channel(host, grpc.ssl_channel_credentials()) if secure else grpc.insecure_channel(host) as channel:
        speech = speech_pb2_grpc.SpeechServiceStub(channel)
        synthesize_to_file(speech, key)
        stream(speech, key)
        speak_live(speech, key)
        ask_for_an_unknown_voice(speech, key)
        give_up_early(speech, key)


def synthesize_to_file(speech, key):
    """One text, answered when all of it is spoken. Inline audio is at most 4 MB: a longer text is better streamed."""
    request = speech_pb2.SynthesizeSpeechRequest(
        voice_id="clara",
        text="Hello from Sonant.",
        output_format=speech_pb2.OUTPUT_FORMAT_MP3,
        return_format=speech_pb2.RETURN_FORMAT_BUFFER,
    )
    response = speech.SynthesizeSpeech(request, metadata=key, timeout=DEADLINE_SECONDS)
    with open("hello.mp3", "wb") as file:
        file.write(response.audio_bytes)
    print(f"hello.mp3: {len(response.audio_bytes)} bytes, {response.duration.ToMilliseconds()} ms of speech")


def stream(speech, key):
    """Bare samples as they are spoken: what a player could play from the first piece on."""
    request = speech_pb2.StreamSpeechRequest(
        voice_id="clara",
        text_chunks=["Dear reader, it cost $19.99.", "Yours, Clara."],
        output_format=speech_pb2.OUTPUT_FORMAT_PCM,
        sample_rate=24000,
    )
    asked = time.monotonic()
    size, digest = 0, hashlib.sha256()
    # If the loop ends without an exception, all audio has arrived.
    for response in speech.StreamSpeech(request, metadata=key, timeout=DEADLINE_SECONDS):
        if response.WhichOneof("event") == "audio":
            if size == 0:
                print(f"first sound after {1000 * (time.monotonic() - asked):.0f} ms")
            size += len(response.audio.audio)
            digest.update(response.audio.audio)
    print(f"streamed {size} bytes, SHA-256 {digest.hexdigest()}")


def speak_live(speech, key):
    """Two turns as they are written. The listener hangs up in the second, which cancels the call."""

    def requests():
        yield speech_pb2.LiveSpeechRequest(start=speech_pb2.LiveStart(voice_id="clara"))
        for text in ("Good morning. It is late.", "This takes a while. " * 200):
            yield speech_pb2.LiveSpeechRequest(text=speech_pb2.LiveText(text=text))
            yield speech_pb2.LiveSpeechRequest(flush=speech_pb2.LiveFlush())

    call, size = speech.LiveSpeech(requests(), metadata=key, timeout=DEADLINE_SECONDS), 0
    try:
        for response in call:
            size += len(response.audio.audio)
            if response.WhichOneof("event") == "flushed":
                print(f"turn 0: {response.flushed.chars} characters, {size} bytes")
                call.cancel()
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.CANCELLED:
            raise
        print("cancelled in turn 1")


def ask_for_an_unknown_voice(speech, key):
    try:
        speech.SynthesizeSpeech(
            speech_pb2.SynthesizeSpeechRequest(voice_id="nobody", text="Hello."), metadata=key, timeout=DEADLINE_SECONDS
        )
    except grpc.RpcError as error:
        print(f"refused: {reason_of(error)}: {error.details()}")


def give_up_early(speech, key):
    """Ten milliseconds are too few for a long text. The service stops to speak it as soon as the caller gives up."""
    request = speech_pb2.SynthesizeSpeechRequest(voice_id="clara", text="This takes a while. " * 200)
    try:
        speech.SynthesizeSpeech(request, metadata=key, timeout=0.01)
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
        print("gave up after 10 ms, as told")


def reason_of(error):
    """The stable name of a failure, from its google.rpc.ErrorInfo; of what is not Sonant's own, gRPC's status."""
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return info.reason
    return error.code().name


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
    except grpc.RpcError as error:
        sys.exit(f"{reason_of(error)}: {error.details()}")
