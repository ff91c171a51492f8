# The services of Pipecat: 4 s of audio in real time; the pipeline ends 5 s later, as that of an agent goes on.
import asyncio, json, os, sys
from loguru import logger
from pipecat.frames.frames import EndFrame, InputAudioRawFrame, TranscriptionFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.deepgram.stt import DeepgramSTTService
from pipecat.services.openai.stt import OpenAIRealtimeSTTService
from pipecat.workers.runner import WorkerRunner

logger.remove()
base, key = os.environ["BASE"], os.environ["KEY"]
RATE = 24000


def show(**line):
    print(json.dumps(line), flush=True)


class Texts(FrameProcessor):
    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            show(text=frame.text)
        await self.push_frame(frame, direction)


def service():
    if sys.argv[1] == "deepgram":
        return DeepgramSTTService(api_key=key, base_url=base)
    url = base.replace("http", "ws") + "/v1/realtime"
    return OpenAIRealtimeSTTService(api_key=key, base_url=url, turn_detection={"type": "server_vad"})


async def main():
    stt = service()
    worker = PipelineWorker(
        Pipeline([stt, Texts()]), params=PipelineParams(audio_in_sample_rate=RATE), enable_rtvi=False
    )
    connected = asyncio.Event()

    @stt.event_handler("on_connected")
    async def on_connected(_service):
        connected.set()

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_worker, frame):
        show(saw=f"error: {frame.error[:90]}")

    async def send():
        # An agent connects before its user speaks.
        try:
            await asyncio.wait_for(connected.wait(), 5)
        except TimeoutError:
            pass
        for _ in range(40):
            await worker.queue_frame(InputAudioRawFrame(audio=bytes(RATE // 5), sample_rate=RATE, num_channels=1))
            await asyncio.sleep(0.1)
        await asyncio.sleep(5)
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), send())
    show(saw="done")


asyncio.run(main())
os._exit(0)
