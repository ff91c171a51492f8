"""The package `openai` for Python: recordings in every form of answer, models, and its errors."""

import asyncio

from openai import AsyncOpenAI, AuthenticationError, BadRequestError, OpenAI
from steps import base, key, record, recording

client = OpenAI(base_url=f"{base}/v1", api_key=key)
stranger = AsyncOpenAI(base_url=f"{base}/v1", api_key="wrong")


def transcribe(**options):
    with open(recording, "rb") as file:
        return client.audio.transcriptions.create(file=file, model="whisper-1", **options)


def verbose():
    answer = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"])
    segments, words = ([part.text for part in answer.segments], [part.word for part in answer.words])
    return {"text": answer.text, "segments": "".join(segments), "words": " ".join(words)}


def events():
    texts = {"deltas": "", "done": ""}
    for event in transcribe(stream=True):
        if event.type == "transcript.text.delta":
            texts["deltas"] += event.delta
        else:
            texts["done"] = event.text
    return texts


def refused_option():
    try:
        transcribe(prompt="Names")
    except BadRequestError as error:
        return {"code": error.code, "param": error.param, "hasId": error.request_id is not None}


async def wrong_key():
    try:
        with open(recording, "rb") as file:
            await stranger.audio.transcriptions.create(file=file, model="whisper-1")
    except AuthenticationError as error:
        return {"status": error.status_code, "code": error.code}


async def main():
    await record("json", lambda: transcribe().text)
    for form in ("text", "srt", "vtt"):
        await record(form, lambda form=form: transcribe(response_format=form))
    await record("verbose_json", verbose)
    await record("events", events)
    await record("models", lambda: [model.id for model in client.models.list()])
    await record("an option", refused_option)
    await record("a wrong key", wrong_key)


asyncio.run(main())
