"""The plugin `openai` of LiveKit's agents: a stream."""

import asyncio

from livekit import rtc
from livekit.agents import stt
from livekit.agents.utils import http_context
from livekit.plugins import openai
from steps import base, key, record, samples, turns


async def listen():
    rate, pcm = samples()
    plugin = openai.STT(
        model="gpt-4o-mini-transcribe",
        base_url=f"{base}/v1",
        api_key=key,
        use_realtime=True,
        turn_detection={"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500},
    )
    texts, started, ended = [], 0, 0
    async with http_context.open():
        stream = plugin.stream()
        # The stream ends with its input, so the silence and the input stay open until all turns are there.
        for part in (pcm, bytes(rate * 2)):
            stream.push_frame(rtc.AudioFrame(part, rate, 1, len(part) // 2))
        async for event in stream:
            if event.type == stt.SpeechEventType.START_OF_SPEECH:
                started += 1
            elif event.type == stt.SpeechEventType.END_OF_SPEECH:
                ended += 1
            elif event.type == stt.SpeechEventType.FINAL_TRANSCRIPT:
                texts.append(event.alternatives[0].text)
                if len(texts) == turns:
                    break
        await stream.aclose()
        await plugin.aclose()
    return {"text": " ".join(texts), "hasSpeech": started > 0, "isEven": started == ended}


async def main():
    await record("a stream", listen)


asyncio.run(main())
