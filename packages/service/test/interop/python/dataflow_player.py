"""Plays one script over the dataflow stream with Python's own gRPC package and prints what it receives, one JSON line each.

stdin: {"address", "ca", "steps", "compression"?, "deadlineS"?}. A step is one of
["request", object or text], ["audio", file, from, to, chunk bytes], ["raw", content type, text, hex],
["receive", count], ["cancel"], ["stay"] (the stream is not half-closed before the service ends it).
"""
import json
import queue
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

KINDS = ["AUDIO", "EVENT", "REQUEST", "RESPONSE"]


def messages():
    """The two messages of PROTOCOL 3, defined here independently of the package."""
    file = descriptor_pb2.FileDescriptorProto(name="plain.proto", syntax="proto3")
    kind = file.enum_type.add(name="CONTENT_TYPE")
    for number, name in enumerate(KINDS):
        kind.value.add(name=name, number=number)
    field = descriptor_pb2.FieldDescriptorProto
    content = file.message_type.add(name="Content")
    content.field.add(name="content", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    content.field.add(name="binary_content", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    content.field.add(
        name="content_type", number=3, type=field.TYPE_ENUM, type_name=".CONTENT_TYPE", label=field.LABEL_OPTIONAL
    )
    for name in ("StreamInput", "StreamOutput"):
        one = file.message_type.add(name=name)
        one.field.add(
            name="message", number=1, type=field.TYPE_MESSAGE, type_name=".Content", label=field.LABEL_OPTIONAL
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = pool.FindMessageTypeByName
    if hasattr(message_factory, "GetMessageClass"):
        return [message_factory.GetMessageClass(find(name)) for name in ("StreamInput", "StreamOutput")]
    factory = message_factory.MessageFactory(pool)
    return [factory.GetPrototype(find(name)) for name in ("StreamInput", "StreamOutput")]


def main():
    script = json.load(sys.stdin)
    stream_input, stream_output = messages()
    outgoing = queue.Queue()

    def put(kind, text="", data=b""):
        message = stream_input()
        message.message.content = text
        message.message.binary_content = data
        message.message.content_type = kind
        outgoing.put(message)

    if script.get("ca"):
        credentials = grpc.ssl_channel_credentials(open(script["ca"], "rb").read())
        channel = grpc.secure_channel(script["address"], credentials)
    else:
        channel = grpc.insecure_channel(script["address"])
    compression = grpc.Compression.Gzip if script.get("compression") == "gzip" else None
    stream = channel.stream_stream(
        "/dataflow/Stream",
        request_serializer=stream_input.SerializeToString,
        response_deserializer=stream_output.FromString,
    )
    call = stream(iter(outgoing.get, None), compression=compression, timeout=script.get("deadlineS", 110))

    def receive():
        message = next(call).message
        line = {"kind": KINDS[message.content_type]}
        if message.binary_content:
            line["bytes"] = len(message.binary_content)
        else:
            line["json"] = json.loads(message.content)
        print(json.dumps(line), flush=True)

    try:
        stays = False
        for name, *rest in script["steps"]:
            if name == "request":
                put(2, rest[0] if isinstance(rest[0], str) else json.dumps(rest[0]))
            elif name == "raw":
                put(rest[0], rest[1], bytes.fromhex(rest[2]))
            elif name == "audio":
                file, start, end, size = rest
                data = open(file, "rb").read()[start:end]
                for at in range(0, len(data), size):
                    put(0, data=data[at : at + size])
            elif name == "receive":
                for _ in range(rest[0]):
                    receive()
            elif name == "cancel":
                call.cancel()
            elif name == "stay":
                stays = True
        if not stays:
            outgoing.put(None)
        while True:
            receive()
    except StopIteration:
        pass
    except grpc.RpcError:
        pass
    outgoing.put(None)
    print(json.dumps({"status": call.code().name, "details": call.details()}), flush=True)
    channel.close()


main()
