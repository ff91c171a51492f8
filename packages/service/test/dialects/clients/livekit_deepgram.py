"""The plugin `deepgram` of LiveKit's agents: a stream."""

import asyncio

import aiohttp
from livekit import rtc
from livekit.agents import APIStatusError
from livekit.agents.stt import SpeechEventType
from livekit.plugins import deepgram
from steps import base, key, linger, record, samples

rate, pcm = samples()


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
        try:
            async for event in stream:
                started += event.type == SpeechEventType.START_OF_SPEECH
                ended += event.type == SpeechEventType.END_OF_SPEECH
                if event.type == SpeechEventType.FINAL_TRANSCRIPT:
                    texts.append(event.alternatives[0].text)
        finally:
            sending.cancel()
        return {"text": " ".join(texts), "hasSpeech": started > 0, "isEven": started == ended}


async def wrong_key():
    try:
        return await recognize("wrong")
    except APIStatusError as error:
        return {"status": error.status_code, "retryable": error.retryable}


async def main():
    await record("a stream", lambda: recognize(key))
    await record("a wrong key", wrong_key)
    await linger()


asyncio.run(main())
