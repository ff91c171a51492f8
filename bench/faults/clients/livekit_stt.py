# The plugins of LiveKit's agents: 4 s of audio in real time; the input ends 5 s later, as that of an agent goes on.
import asyncio, json, os, sys
from livekit import rtc
from livekit.agents.stt import SpeechEventType
from livekit.agents.utils import http_context
from livekit.plugins import deepgram, openai

base, key = os.environ["BASE"], os.environ["KEY"]
RATE = 24000


def show(**line):
    print(json.dumps(line), flush=True)


def named(error):
    return f"{type(error).__name__} {getattr(error, 'status_code', '')}".strip()


def recognizer():
    if sys.argv[1] == "deepgram":
        return deepgram.STT(base_url=f"{base}/v1/listen", api_key=key, sample_rate=RATE)
    return openai.STT(model="gpt-4o-transcribe", base_url=f"{base}/v1", api_key=key, use_realtime=True)


async def main():
    async with http_context.open():
        stt = recognizer()
        stt.on("error", lambda event: show(saw=f"error: {named(event.error)}{', tries again' * event.recoverable}"))
        stream = stt.stream()

        async def send():
            for _ in range(40):
                stream.push_frame(rtc.AudioFrame(bytes(RATE // 5), RATE, 1, RATE // 10))
                await asyncio.sleep(0.1)
            await asyncio.sleep(5)
            stream.end_input()

        sending = asyncio.create_task(send())
        try:
            async for event in stream:
                if event.type == SpeechEventType.FINAL_TRANSCRIPT:
                    show(text=event.alternatives[0].text)
            show(saw="done")
        except Exception as error:
            show(saw=named(error))
        finally:
            sending.cancel()


asyncio.run(main())
os._exit(0)
