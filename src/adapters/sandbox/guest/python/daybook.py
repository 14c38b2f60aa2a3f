"""Sends requests to the runtime that runs this program. Each request has a connection of its own, and sends and receives one JSON text."""

import base64
import json
import os
import socket
import time

SOCKET = "/daybook/run/requests.sock"
TOKEN = "/daybook/run/token"
CONNECT_SECONDS = 5


class Reply(dict):
    """A result that a program can use with and without `await`."""

    def __await__(self):
        return self
        yield  # makes this function a generator


def fetch_ctx(path):
    """The content at a logical path of the conversation, as {"ret": …, "err": …}. It never raises an error."""
    try:
        answer = ask({"kind": "fetch_ctx", "path": path})
    except Exception as error:
        answer = {"ret": None, "err": {"code": "tool_failure", "message": str(error)}}
    return Reply(answer) if isinstance(answer, dict) else Reply(ret=answer, err=None)


async def tool_call(tool_id=None, params=None, call_reason=None, *, fn=None):
    """Calls a tool. `tool_id` is its id, such as "web_tools.web_search". Raises RuntimeError if the tool can not be called."""
    if isinstance(tool_id, dict):
        return await tool_call(**tool_id)
    target = tool_id if tool_id is not None else fn
    request = {"kind": "tool_call", "toolId": getattr(target, "tool_id", target), "params": params or {}}
    if call_reason is not None:
        request["reason"] = str(call_reason)
    import asyncio

    return await asyncio.to_thread(ask, request)


def tool(tool_id):
    """A function that calls one tool, with the parameters as named arguments or as one dict."""

    async def call(params=None, /, **named):
        return await tool_call(tool_id, {**(params or {}), **named})

    call.tool_id = tool_id
    return call


def ask(request):
    with open(TOKEN, encoding="ascii") as file:
        body = json.dumps({"token": file.read(), **pack(request)}, allow_nan=False).encode()
    with connect() as connection:
        connection.sendall(body)
        connection.shutdown(socket.SHUT_WR)
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    if not pieces:
        raise RuntimeError("the runtime ended the connection without an answer")
    answer = json.loads(b"".join(pieces))
    if not answer["ok"]:
        raise RuntimeError(answer["error"])
    return unpack(answer["result"])


def connect():
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(SOCKET)
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def pack(value):
    """Bytes and paths as JSON."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"__type__": "bytes", "__data__": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        return {key: pack(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(each) for each in value]
    return value


def unpack(value):
    """Undoes `pack`."""
    if isinstance(value, dict):
        if value.get("__type__") == "bytes" and isinstance(value.get("__data__"), str):
            return base64.b64decode(value["__data__"])
        return {key: unpack(each) for key, each in value.items()}
    if isinstance(value, list):
        return [unpack(each) for each in value]
    return value
