"""Speaks three turns of three sentences with a service of Pipecat, as an agent does; the second turn is interrupted.

Arguments: the service, the URL of the gateway, the API key and the voice. Prints what the pipeline received as JSON,
up to the first error. Without turns, waits for an error.
"""

import asyncio
import json
import sys
import time

import aiohttp
from pipecat.frames.frames import (
    EndFrame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.cartesia.tts import CartesiaTTSService
from pipecat.services.elevenlabs.dialogue.tts import ElevenLabsDialogueTTSService
from pipecat.services.elevenlabs.tts import ElevenLabsHttpTTSService, ElevenLabsTTSService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.workers.runner import WorkerRunner

service, url, key, voice = sys.argv[1:]
TURNS = json.load(sys.stdin)


def open_service(session):
    if service == "elevenlabs":
        return ElevenLabsTTSService(api_key=key, url=url.replace("http", "ws", 1), settings=ElevenLabsTTSService.Settings(voice=voice))
    if service == "elevenlabs-dialogue":
        settings = ElevenLabsDialogueTTSService.Settings(voice=voice)
        return ElevenLabsDialogueTTSService(api_key=key, url=url.replace("http", "ws", 1), settings=settings)
    if service == "elevenlabs-http":
        settings = ElevenLabsHttpTTSService.Settings(voice=voice)
        return ElevenLabsHttpTTSService(api_key=key, base_url=url, aiohttp_session=session, settings=settings)
    if service == "cartesia":
        address = url.replace("http", "ws", 1) + "/tts/websocket"
        return CartesiaTTSService(api_key=key, url=address, settings=CartesiaTTSService.Settings(voice=voice))
    return OpenAITTSService(api_key=key, base_url=url + "/v1")


class Listener(FrameProcessor):
    """Notes the frames that an output would play, for each turn."""

    def __init__(self):
        super().__init__()
        self.errors = []
        self.begin()

    def begin(self):
        self.turn = {"bytes": 0, "words": [], "first": None, "late": 0, "rate": 0}
        self.asked = time.monotonic()
        self.heard = asyncio.Event()
        self.stopped = asyncio.Event()
        self.interrupted = asyncio.Event()

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        turn = self.turn
        if isinstance(frame, InterruptionFrame):
            self.interrupted.set()
        elif isinstance(frame, TTSAudioRawFrame):
            if self.interrupted.is_set():
                turn["late"] += len(frame.audio)
            turn["bytes"] += len(frame.audio)
            turn["rate"] = frame.sample_rate
            if turn["first"] is None:
                turn["first"] = time.monotonic() - self.asked
            self.heard.set()
        elif isinstance(frame, TTSTextFrame):
            turn["words"].append([frame.text, frame.pts])
        elif isinstance(frame, TTSStoppedFrame):
            self.stopped.set()
        await self.push_frame(frame, direction)


async def main():
    async with aiohttp.ClientSession() as session:
        listener = Listener()
        worker = PipelineWorker(Pipeline([open_service(session), listener]), cancel_on_idle_timeout=False)
        started = asyncio.Event()

        @worker.event_handler("on_pipeline_started")
        async def on_started(_worker, _frame):
            started.set()

        @worker.event_handler("on_pipeline_error")
        async def on_error(_worker, frame):
            listener.errors.append(frame.error)
            listener.heard.set()
            listener.stopped.set()

        async def converse():
            await asyncio.wait_for(started.wait(), 60)
            turns = []
            for i, sentences in enumerate(TURNS):
                listener.begin()
                await worker.queue_frame(LLMFullResponseStartFrame())
                for token in " ".join(sentences).split(" "):
                    await worker.queue_frame(LLMTextFrame(token + " "))
                await worker.queue_frame(LLMFullResponseEndFrame())
                if i == 1:
                    await asyncio.wait_for(listener.heard.wait(), 60)
                    await worker.queue_frame(InterruptionFrame())
                    await asyncio.wait_for(listener.interrupted.wait(), 60)
                    # Audio that the service still sends for this turn would arrive now.
                    await asyncio.sleep(1)
                else:
                    await asyncio.wait_for(listener.stopped.wait(), 60)
                turns.append(listener.turn)
                if listener.errors:
                    break
            if not TURNS:
                await asyncio.wait_for(listener.stopped.wait(), 60)
            await worker.queue_frame(EndFrame())
            return turns

        runner = WorkerRunner()
        await runner.add_workers(worker)
        _, turns = await asyncio.gather(runner.run(), converse())
        print(json.dumps({"turns": turns, "errors": listener.errors}))


asyncio.run(main())
