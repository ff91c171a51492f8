"""The realtime client of `openai`, for asyncio and for threads."""

import asyncio
import base64

from openai import AsyncOpenAI, OpenAI
from steps import base, key, record, turns
from wide_audio import RATE, wide_parts

COMPLETED = "conversation.item.input_audio_transcription.completed"
QUERY = {"intent": "transcription"}


def session(turn_detection, **transcription):
    return {
        "type": "transcription",
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": RATE},
                "transcription": {"model": "gpt-transcribe", **transcription},
                "turn_detection": turn_detection,
            }
        },
    }


async def commit():
    client = AsyncOpenAI(base_url=f"{base}/v1", api_key=key)
    deltas = ""
    async with client.realtime.connect(extra_query=QUERY) as connection:
        await connection.session.update(session=session(None, language="en"))
        for part in wide_parts(100):
            await connection.input_audio_buffer.append(audio=base64.b64encode(part).decode())
        await connection.input_audio_buffer.commit()
        async for event in connection:
            if event.type == "conversation.item.input_audio_transcription.delta":
                deltas += event.delta
            if event.type == COMPLETED:
                return {"text": event.transcript, "isPrefix": event.transcript.startswith(deltas)}


def detect():
    """Sends everything before it reads anything."""
    client = OpenAI(base_url=f"{base}/v1", api_key=key)
    texts = []
    with client.realtime.connect(model="gpt-transcribe") as connection:
        connection.session.update(session=session({"type": "server_vad"}))
        for part in wide_parts(100):
            connection.input_audio_buffer.append(audio=base64.b64encode(part).decode())
        for event in connection:
            if event.type == COMPLETED:
                texts += [event.transcript] if event.transcript else []
                if len(texts) == turns:
                    return " ".join(texts)


async def option():
    client = AsyncOpenAI(base_url=f"{base}/v1", api_key=key)
    async with client.realtime.connect(extra_query=QUERY) as connection:
        await connection.session.update(session=session(None, prompt="Names"))
        async for event in connection:
            if event.type == "error":
                return {"code": event.error.code, "param": event.error.param}


async def refusal(api_key):
    client = AsyncOpenAI(base_url=f"{base}/v1", api_key=api_key)
    async with client.realtime.connect(extra_query=QUERY):
        pass


async def main():
    await record("a full service", lambda: refusal(key))
    await record("a commit", commit)
    await record("speech", detect)
    await record("an option", option)
    await record("a wrong key", lambda: refusal("wrong"))


asyncio.run(main())
