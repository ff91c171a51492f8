"""Plays one script over the recognition socket with Python's websockets and prints what it receives, one JSON line each.

stdin: {"url", "ca", "token"?, "subprotocols"?, "compression"?, "steps"}. A step is one of
["send", object or text], ["audio", file, from, to, chunk bytes], ["bytes", hex], ["receive", count], ["receive-until", name],
["fragments", text, parts], ["ping"], ["close", code]. After the last step all messages are printed until the service closes, or
the socket is closed by the script.
"""
import asyncio
import json
import ssl
import sys

import websockets


async def main():
    script = json.load(sys.stdin)
    context = None
    if script.get("ca"):
        context = ssl.create_default_context(cafile=script["ca"])
    headers = {"Authorization": "Bearer " + script["token"]} if script.get("token") else {}
    say = lambda line: print(json.dumps(line), flush=True)
    try:
        socket = await websockets.connect(
            script["url"],
            ssl=context,
            extra_headers=headers,
            subprotocols=script.get("subprotocols"),
            compression=script.get("compression"),
            max_size=None,
        )
    except websockets.exceptions.InvalidStatusCode as error:
        say({"http": error.status_code})
        return
    say({"subprotocol": socket.subprotocol, "extensions": [one.name for one in socket.extensions]})

    async def receive():
        data = await asyncio.wait_for(socket.recv(), 60)
        message = {"bytes": len(data)} if isinstance(data, bytes) else json.loads(data)
        say(message)
        return message

    try:
        for name, *rest in script["steps"]:
            if name == "send":
                await socket.send(rest[0] if isinstance(rest[0], str) else json.dumps(rest[0]))
            elif name == "bytes":
                await socket.send(bytes.fromhex(rest[0]))
            elif name == "fragments":
                text, parts = rest
                size = max(1, len(text) // parts)
                await socket.send([text[at : at + size] for at in range(0, len(text), size)])
            elif name == "audio":
                file, start, end, size = rest
                data = open(file, "rb").read()[start:end]
                for at in range(0, len(data), size):
                    await socket.send(data[at : at + size])
            elif name == "receive":
                for _ in range(rest[0]):
                    await receive()
            elif name == "receive-until":
                while (await receive()).get("message-name") != rest[0]:
                    pass
            elif name == "ping":
                await asyncio.wait_for(await socket.ping(), 10)
                say({"pong": True})
            elif name == "close":
                await socket.close(rest[0])
        while True:
            await receive()
    except websockets.exceptions.ConnectionClosed:
        pass
    say({"close": socket.close_code, "reason": socket.close_reason})


asyncio.run(main())
