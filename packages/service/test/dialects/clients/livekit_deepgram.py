"""The plugin `deepgram` of LiveKit's agents: a stream."""

import asyncio
import os

import aiohttp
from livekit import rtc
from livekit.agents.stt import SpeechEventType
from livekit.plugins import deepgram
from steps import base, key, record, samples

rate, pcm = samples()
linger = float(os.environ.get("LINGER_MS", "0")) / 1000


async def recognize(api_key):
    async with aiohttp.ClientSession() as session:
        stt = deepgram.STT(
            base_url=f"{base}/v1/listen", api_key=api_key, sample_rate=rate, http_session=session
        )
        stream = stt.stream()
        size = rate // 10 * 2

        async def send():
            for at in range(0, len(pcm), size):
                part = pcm[at : at + size]
                frame = rtc.AudioFrame(data=part, sample_rate=rate, num_channels=1, samples_per_channel=len(part) // 2)
                stream.push_frame(frame)
                await asyncio.sleep(0.02)
            stream.end_input()

        sending = asyncio.create_task(send())
        texts, started, ended = [], 0, 0
        async for event in stream:
            started += event.type == SpeechEventType.START_OF_SPEECH
            ended += event.type == SpeechEventType.END_OF_SPEECH
            if event.type == SpeechEventType.FINAL_TRANSCRIPT:
                texts.append(event.alternatives[0].text)
        await sending
        await asyncio.sleep(linger)
        return {"text": " ".join(texts), "hasSpeech": started > 0, "isEven": started == ended}


asyncio.run(record("a stream", lambda: recognize(key)))
