# `openai` for Python: 4 s of audio in real time, then a commit. Each line of the output is a text or what was reported.
import asyncio, base64, json, os
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url=os.environ["BASE"] + "/v1", api_key=os.environ["KEY"])
COMPLETED = "conversation.item.input_audio_transcription.completed"


def show(**line):
    print(json.dumps(line), flush=True)


async def main():
    committed = False
    async with client.realtime.connect(extra_query={"intent": "transcription"}) as connection:

        async def send():
            nonlocal committed
            audio_input = {
                "format": {"type": "audio/pcm", "rate": 24000},
                "transcription": {"model": "gpt-transcribe"},
                "turn_detection": {"type": "server_vad"},
            }
            await connection.session.update(session={"type": "transcription", "audio": {"input": audio_input}})
            for _ in range(40):
                await connection.input_audio_buffer.append(audio=base64.b64encode(bytes(4800)).decode())
                await asyncio.sleep(0.1)
            committed = True
            await connection.input_audio_buffer.commit()

        sending = asyncio.create_task(send())
        try:
            async for event in connection:
                if event.type == COMPLETED and event.transcript:
                    show(text=event.transcript)
                if event.type == COMPLETED and committed:
                    show(saw="done")
                    return
            show(saw="the loop ends")
        finally:
            sending.cancel()


try:
    asyncio.run(main())
except Exception as error:
    response = getattr(error, "response", None)
    code = getattr(getattr(error, "rcvd", None), "code", getattr(response, "status_code", ""))
    show(saw=f"{type(error).__name__} {code or ''}".strip())
