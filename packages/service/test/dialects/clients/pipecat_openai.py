"""The service `openai` of Pipecat: segments of speech as recordings."""

import asyncio

from pipecat.frames.frames import VADUserStartedSpeakingFrame, VADUserStoppedSpeakingFrame
from pipecat.services.openai.stt import OpenAISTTService
from pipecat_pipeline import audio_frames, run_pipeline
from steps import base, key, record


async def recognize(api_key):
    rate, frames = audio_frames()
    spoken = [VADUserStartedSpeakingFrame(), *frames, VADUserStoppedSpeakingFrame()]
    return await run_pipeline(OpenAISTTService(api_key=api_key, base_url=f"{base}/v1"), spoken, rate)


async def main():
    await record("a segment", lambda: recognize(key))
    await record("a wrong key", lambda: recognize("wrong"))


asyncio.run(main())
