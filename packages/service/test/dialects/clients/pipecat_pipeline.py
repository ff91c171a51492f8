"""Runs a service of Pipecat in a pipeline of its own."""

from loguru import logger
from pipecat.frames.frames import EndFrame, InputAudioRawFrame, TranscriptionFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.workers.runner import WorkerRunner
from steps import samples

logger.remove()


class Texts(FrameProcessor):
    """Keeps the texts that pass."""

    def __init__(self):
        super().__init__()
        self.texts = []

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            self.texts.append(frame.text.strip())
        await self.push_frame(frame, direction)


def audio_frames():
    """The recording in frames of 20 ms."""
    rate, pcm = samples()
    size = rate // 50 * 2
    parts = (pcm[at : at + size] for at in range(0, len(pcm), size))
    return rate, [InputAudioRawFrame(audio=part, sample_rate=rate, num_channels=1) for part in parts]


async def run_pipeline(service, frames, rate):
    """The texts of a service for these frames, and its errors."""
    kept, errors = Texts(), []
    worker = PipelineWorker(
        Pipeline([service, kept]), params=PipelineParams(audio_in_sample_rate=rate), enable_rtvi=False
    )

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_worker, frame):
        errors.append(frame.error)

    await worker.queue_frames([*frames, EndFrame()])
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()
    return {"text": " ".join(kept.texts), "errors": errors}
