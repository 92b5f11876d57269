"""The local server of `ndigo view`: the page's few files, and a websocket on which its episodes are played."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import sys
from typing import Any

from ndigo.errors import NdigoError
from ndigo.viewer.guard import App, guarded
from ndigo.viewer.page import STATIC
from ndigo.viewer.stage import Company, Stage

try:
    import uvicorn
    import websockets  # noqa: F401  (uvicorn's, and silently missed by it)
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect
except ImportError as error:
    raise NdigoError(f"the viewer needs {error.name}: pip install ndigo[viewer]") from None

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
LARGEST_MESSAGE = 1 << 17  # bytes; a page that comes back sends all its moves
SHUTDOWN_SECONDS = 1


def make_app(company: Company | None, recording: bytes | None, host: str, port: int) -> App:
    """Serves live sessions of a company, or one recording. Files are read now: no request's path reaches the disk."""
    files = {path.name: (path.read_bytes(), TYPES[path.suffix]) for path in STATIC.iterdir()}
    page, kind = files["index.html"]
    if recording is not None:
        page = page.replace(b'data-ndigo="live"', b'data-ndigo="served"')
        files["recording"] = (recording, "application/gzip")
    files[""] = (page, kind)

    async def file(request: Request) -> Response:
        found = files.get(request.path_params.get("name", ""))
        if found is None:
            return Response("there is no such page\n", 404, media_type="text/plain")
        return Response(found[0], media_type=found[1])

    async def session(websocket: WebSocket) -> None:
        assert company is not None
        await websocket.accept()
        await websocket.send_text(json.dumps({"type": "hello", "catalogue": company.catalogue()}))
        stage = Stage(company)
        try:
            while True:
                await websocket.send_text(await _answer(stage, await websocket.receive_text()))
        except WebSocketDisconnect:
            pass

    routes: list[Any] = [Route("/{name}", file), Route("/", file)]
    if company is not None:
        routes.insert(0, WebSocketRoute("/session", session))
    return guarded(Starlette(routes=routes), host, port)


async def _answer(stage: Stage, text: str) -> str:
    """The reply to one message, worked out beside the event loop."""
    number = None
    try:
        message = json.loads(text)
        number = message.get("n") if isinstance(message, dict) else None
        reply = await asyncio.to_thread(stage.answer, message)
    except (NdigoError, ValueError, TypeError) as error:  # what a page may get wrong
        reply = {"type": "refused", "message": " ".join(str(error).split())}
    return json.dumps(reply | {"n": number})


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; where the port is taken, one on a free port, and a line that says so."""
    try:
        family, kind, protocol, _, _ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise NdigoError(f"--host {host}: {error.strerror or error}") from None
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


def make_server(app: App) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # frames go to the same machine: compressing costs more than sending
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)


def serve(app: App, listener: socket.socket) -> None:
    """Runs until Ctrl-C."""
    try:
        make_server(app).run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # how one ends a server
    finally:
        listener.close()
