"""The plugin `openai` of LiveKit's agents: recordings."""

import asyncio

from livekit import rtc
from livekit.agents import APIStatusError
from livekit.plugins import openai
from steps import base, key, record, samples

rate, pcm = samples()
frame = rtc.AudioFrame(data=pcm, sample_rate=rate, num_channels=1, samples_per_channel=len(pcm) // 2)


async def recognize(api_key):
    stt = openai.STT(model="whisper-1", base_url=f"{base}/v1", api_key=api_key)
    return (await stt.recognize(frame)).alternatives[0].text


async def wrong_key():
    try:
        return await recognize("wrong")
    except APIStatusError as error:
        return {"status": error.status_code, "retryable": error.retryable}


async def main():
    await record("a frame", lambda: recognize(key))
    await record("a wrong key", wrong_key)


asyncio.run(main())
