"""The package `deepgram-sdk` for Python: a stream, a recording, and what is refused."""

import asyncio

from deepgram import AsyncDeepgramClient, DeepgramClient
from deepgram.core.api_error import ApiError
from deepgram.environment import DeepgramClientEnvironment
from deepgram.errors import BadRequestError
from steps import base, key, linger, record, recording, samples
from websockets.exceptions import ConnectionClosed

rate, pcm = samples()
sockets = base.replace("http", "ws")
environment = DeepgramClientEnvironment(base=base, production=sockets, agent=sockets, agent_rest=base)


def options(**more):
    return {"model": "nova-3", "encoding": "linear16", "sample_rate": str(rate), "interim_results": "true", **more}


async def stream(**credentials):
    client = AsyncDeepgramClient(environment=environment, **credentials)
    texts, types, code = [], {}, None
    async with client.listen.v1.connect(**options()) as connection:
        for at in range(0, len(pcm), 1600):
            await connection.send_media(pcm[at : at + 1600])
        await connection.send_keep_alive()
        await connection.send_finalize()
        await connection.send_close_stream()
        try:
            while True:
                message = await connection.recv()
                types[message.type] = types.get(message.type, 0) + 1
                if message.type == "Results" and message.is_final:
                    texts.append(message.channel.alternatives[0].transcript)
        except ConnectionClosed as closed:
            code = closed.code
    return {"text": " ".join(filter(None, texts)), "code": code, "metadata": types.get("Metadata")}


async def refusal(api_key):
    try:
        return await stream(api_key=api_key)
    except ApiError as error:
        return {"status": error.status_code}


def whole(**more):
    client = DeepgramClient(api_key=key, environment=environment)
    with open(recording, "rb") as file:
        return client.listen.v1.media.transcribe_file(request=file.read(), model="nova-3", **more)


def one_recording():
    answer = whole(utterances=True)
    alternative = answer.results.channels[0].alternatives[0]
    return {
        "text": alternative.transcript,
        "words": " ".join(word.word for word in alternative.words),
        "utterances": " ".join(one.transcript for one in answer.results.utterances),
    }


def refused_option():
    try:
        whole(summarize="v2")
    except BadRequestError as error:
        return {"status": error.status_code, "code": error.body["err_code"]}


async def main():
    await record("a full service", lambda: refusal(key))
    await record("a stream", lambda: stream(api_key=key))
    await record("a stream with an access token", lambda: stream(access_token=key))
    await record("a wrong key", lambda: refusal("wrong"))
    await record("a recording", one_recording)
    await record("an option", refused_option)
    await linger()


asyncio.run(main())
