"""What the programs of this folder share: each prints a line of JSON for every step."""

import asyncio
import inspect
import json
import os
import wave

base = os.environ["BASE"]
key = os.environ["KEY"]
recording = os.environ["RECORDING"]
# How many turns the speaker of the recording has.
turns = int(os.environ["TURNS"])
only = os.environ["ONLY"].split("; ") if "ONLY" in os.environ else None


async def record(step, work):
    """Prints the result of a step, or its error. With `ONLY` the other steps are omitted."""
    if only is not None and step not in only:
        return
    try:
        value = work()
        value = await value if inspect.isawaitable(value) else value
    except Exception as error:
        value = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"step": step, "value": value}), flush=True)


def samples():
    """The rate of the recording, and its samples of 16 bits."""
    with wave.open(recording) as wav:
        return wav.getframerate(), wav.readframes(wav.getnframes())


async def linger():
    """Some clients connect again up to 5 s after a close that they do not expect; the service counts the sessions."""
    await asyncio.sleep(0 if only else 7)
