"""The service `deepgram` of Pipecat: a stream."""

import asyncio

from loguru import logger
from pipecat.frames.frames import (
    EndFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.deepgram.stt import DeepgramSTTService
from pipecat.workers.runner import WorkerRunner
from pipecat_pipeline import audio_frames
from steps import base, key, linger, record

logger.remove()


class Texts(FrameProcessor):
    """Keeps the texts that pass, until one completes what was finalized."""

    def __init__(self):
        super().__init__()
        self.texts = []
        self.finalized = asyncio.Event()

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            self.texts.append(frame.text.strip())
            if frame.finalized:
                self.finalized.set()
        await self.push_frame(frame, direction)


async def recognize(api_key):
    rate, frames = audio_frames()
    # Its last words are still open at 30 s: it asks for them, and at its end it waits for no result.
    spoken = [VADUserStartedSpeakingFrame(), *frames[: 30 * 50], VADUserStoppedSpeakingFrame()]
    kept, errors = Texts(), []
    service = DeepgramSTTService(api_key=api_key, base_url=base)
    params = PipelineParams(audio_in_sample_rate=rate)
    worker = PipelineWorker(Pipeline([service, kept]), params=params, enable_rtvi=False)

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_worker, frame):
        errors.append(frame.error)

    async def speak():
        await worker.queue_frames(spoken)
        await asyncio.wait_for(kept.finalized.wait(), 60)
        await worker.queue_frames([EndFrame()])

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), speak())
    return {"text": " ".join(kept.texts), "errors": errors}


async def main():
    await record("a stream", lambda: recognize(key))
    await linger()


asyncio.run(main())
