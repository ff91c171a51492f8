# `deepgram-sdk`: 4 s of audio in real time, then CloseStream. Each line of the output is a text or what was reported.
import asyncio, json, os
from deepgram import AsyncDeepgramClient
from deepgram.environment import DeepgramClientEnvironment

base, key = os.environ["BASE"], os.environ["KEY"]
sockets = base.replace("http", "ws")
environment = DeepgramClientEnvironment(base=base, production=sockets, agent=sockets, agent_rest=base)


def show(**line):
    print(json.dumps(line), flush=True)


async def send(connection):
    for _ in range(40):
        await connection.send_media(bytes(1600))
        await asyncio.sleep(0.1)
    await connection.send_close_stream()


async def main():
    client = AsyncDeepgramClient(environment=environment, api_key=key)
    options = {"model": "nova-3", "encoding": "linear16", "sample_rate": "8000"}
    async with client.listen.v1.connect(**options) as connection:
        sending = asyncio.create_task(send(connection))
        try:
            while True:
                message = await connection.recv()
                if getattr(message, "type", "") == "Results" and message.is_final:
                    text = message.channel.alternatives[0].transcript
                    if text:
                        show(text=text)
        finally:
            sending.cancel()


try:
    asyncio.run(main())
except Exception as error:
    code = getattr(getattr(error, "rcvd", None), "code", getattr(error, "status_code", ""))
    show(saw=f"{type(error).__name__} {code or ''}".strip())
