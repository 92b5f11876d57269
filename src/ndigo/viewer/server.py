"""The local server of `ndigo view`: the page's few files, and a websocket on which its episodes are played."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
import sys
from typing import Any

from ndigo.errors import NdigoError, install
from ndigo.viewer.page import STATIC
from ndigo.viewer.stage import Company, Stage

try:
    import h11  # uvicorn's
    import uvicorn
    import websockets  # noqa: F401  (uvicorn's, and silently missed by it)
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.types import ASGIApp
    from starlette.websockets import WebSocket, WebSocketDisconnect
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    from ndigo.viewer.guard import guarded
except ImportError as error:
    raise NdigoError(f"the viewer needs {error.name}: {install('viewer')}") from None

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
LARGEST_MESSAGE = 1 << 17  # bytes; a page that comes back sends all its moves
SHUTDOWN_SECONDS = 1
REQUEST_SECONDS = 10  # from the first byte of a request to the end of its headers
MOST_SESSIONS = 32  # pages played at once: each keeps all the frames of its episode
TOO_MANY, NOT_TEXT, TOO_DEEP = 1013, 1003, 1007  # codes of closing
BROKEN = {1002: "a frame that is none", 1007: "text that is not UTF-8", 1009: "a message that is too large"}


class BadMessage(Exception):
    """What no page sends; the connection that brought it is closed with this code."""

    def __init__(self, code: int, what: str):
        super().__init__(what)
        self.code = code


def make_app(
    company: Company | None, recording: bytes | None, host: str, port: int, most_sessions: int = MOST_SESSIONS
) -> ASGIApp:
    """Serves live sessions of a company, or one recording. Files are read now: no request's path reaches the disk."""
    files = {path.name: (path.read_bytes(), TYPES[path.suffix]) for path in STATIC.iterdir()}
    page, kind = files["index.html"]
    if recording is not None:
        page = page.replace(b'data-ndigo="live"', b'data-ndigo="served"')
        files["recording"] = (recording, "application/gzip")
    files[""] = (page, kind)
    num_sessions = 0

    async def file(request: Request) -> Response:
        found = files.get(request.path_params.get("name", ""))
        if found is None:
            return Response("there is no such page\n", 404, media_type="text/plain")
        return Response(found[0], media_type=found[1])

    async def session(websocket: WebSocket) -> None:
        nonlocal num_sessions
        assert company is not None
        await websocket.accept()
        if num_sessions >= most_sessions:
            message = f"{most_sessions} pages are open, and that is all; close one, then load this one again"
            await websocket.send_text(json.dumps({"type": "full", "message": message}))
            return await websocket.close(TOO_MANY)
        num_sessions += 1
        try:
            await websocket.send_text(json.dumps({"type": "hello", "catalogue": company.catalogue()}))
            stage = Stage(company)
            while True:
                await websocket.send_text(await _answer(stage, await _text(websocket)))
        except WebSocketDisconnect as end:
            if end.code in BROKEN:
                _log(BROKEN[end.code])
        except BadMessage as error:
            _log(str(error))
            await websocket.close(error.code)
        finally:
            num_sessions -= 1

    routes: list[Any] = [Route("/{name}", file), Route("/", file)]
    if company is not None:
        routes.insert(0, WebSocketRoute("/session", session))
    return guarded(Starlette(routes=routes), host, port)


async def _text(websocket: WebSocket) -> str:
    """The next message."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005), message.get("reason"))
    if message.get("text") is None:
        raise BadMessage(NOT_TEXT, "a message that is not text")
    return message["text"]


def _log(what: str) -> None:
    print(f"a page's connection is closed: it sent {what}", file=sys.stderr, flush=True)


async def _answer(stage: Stage, text: str) -> str:
    """The reply to one message, worked out beside the event loop."""
    number = None
    try:
        try:
            message = json.loads(text)
        except RecursionError:
            raise BadMessage(TOO_DEEP, "JSON that is nested too deep") from None
        number = message.get("n") if isinstance(message, dict) else None
        reply = await asyncio.to_thread(stage.answer, message)
    except (ValueError, TypeError) as error:  # what a page may get wrong; NdigoError is a ValueError
        reply = {"type": "refused", "message": " ".join(str(error).split())}
    return json.dumps(reply | {"n": number})


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; where the port is taken, one on a free port, and a line that says so."""
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:  # UnicodeError: no host can have such a name
        raise NdigoError(f"--host {host}: {getattr(error, 'strerror', None) or error}") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        try:
            listener.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == 0:
                raise
            listener.bind((host, 0))
            print(f"port {port} is taken; using {listener.getsockname()[1]}", file=sys.stderr)
        listener.listen()
    except OSError as error:
        listener.close()
        raise NdigoError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listener


class PunctualProtocol(AutoHTTPProtocol):
    """HTTP in which a request that is begun has to be said in time; uvicorn would wait for ever."""

    seconds: float = REQUEST_SECONDS
    deadline: asyncio.TimerHandle | None = None
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any  # of the newest request; None before the first

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.deadline = self.loop.call_later(self.seconds, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_ours = self.transport.get_protocol() is self  # else it is a websocket by now
        is_waiting = is_ours and (self.cycle is None or self.cycle.response_complete)
        if is_waiting and self.deadline is None:
            self.deadline = self.loop.call_later(self.seconds, self.transport.close)
        elif not is_waiting:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """False for uvicorn's traceback of what has been told in a line: text that is not UTF-8, or a body that is none."""
    return not (record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError | h11.LocalProtocolError))


def make_server(app: ASGIApp) -> uvicorn.Server:
    logging.getLogger("uvicorn.error").addFilter(_is_worth_telling)
    config = uvicorn.Config(
        app,
        http=PunctualProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # frames go to the same machine: compressing costs more than sending
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Runs until Ctrl-C."""
    try:
        make_server(app).run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # how one ends a server
    finally:
        listener.close()
