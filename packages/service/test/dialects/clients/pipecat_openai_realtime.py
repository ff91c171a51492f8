"""The realtime service `openai` of Pipecat, with detection of speech by the pipeline and by the service."""

import asyncio

from pipecat.frames.frames import (
    EndFrame,
    ProposedUserStartedSpeakingFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.stt import OpenAIRealtimeSTTService
from pipecat.workers.runner import WorkerRunner
from pipecat_pipeline import audio_frames
from steps import base, key, record, turns

URL = base.replace("http", "ws") + "/v1/realtime"


class Turns(FrameProcessor):
    """Keeps the texts that pass, and ends after so many: the service sends nothing after the end of its pipeline."""

    def __init__(self, count):
        super().__init__()
        self.texts, self.started, self.done = [], 0, asyncio.Event()
        self.count = count

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, ProposedUserStartedSpeakingFrame):
            self.started += 1
        if isinstance(frame, TranscriptionFrame):
            self.texts.append(frame.text)
            if len(self.texts) == self.count:
                self.done.set()
        await self.push_frame(frame, direction)


async def recognize(turn_detection, count):
    rate, frames = audio_frames()
    service = OpenAIRealtimeSTTService(api_key=key, base_url=URL, turn_detection=turn_detection)
    turns, errors = Turns(count), []
    worker = PipelineWorker(
        Pipeline([service, turns]), params=PipelineParams(audio_in_sample_rate=rate), enable_rtvi=False
    )

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_worker, frame):
        errors.append(frame.error)

    connected = asyncio.Event()

    @service.event_handler("on_connected")
    async def on_connected(_service):
        connected.set()

    async def feed():
        # Frame by frame, because the service sends its settings only after an answer.
        await connected.wait()
        for frame in [VADUserStartedSpeakingFrame(), *frames, VADUserStoppedSpeakingFrame()]:
            await worker.queue_frame(frame)
            await asyncio.sleep(0)
        await asyncio.wait_for(turns.done.wait(), 60)
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), feed())
    return {"text": " ".join(turns.texts), "hasSpeech": turns.started > 0, "errors": errors}


async def main():
    await record("a segment", lambda: recognize(False, 1))
    await record("speech", lambda: recognize({"type": "server_vad"}, turns))


asyncio.run(main())
