"""Who may talk to the server: pages that came from it, under a name that is its own.

Any site can make a browser send requests to a port of the same machine. Such a request says where it comes from
(Origin), and a site that has its own name resolved to this machine (DNS rebinding) still says that name (Host). Both
are checked, for pages and for websockets, before anything else sees the request.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

LOOPBACK = {"127.0.0.1", "localhost", "::1"}

# Everything a page needs comes from here; nothing inline, nothing from elsewhere, no framing.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refusal(headers: dict[str, str], host: str, port: int, is_websocket: bool) -> str:
    """Why a request to a server bound to host and port is refused, or "" where it is not."""
    said = headers.get("host", "")
    name, said_port = _split(said)
    if said_port != port or not _is_ours(name, host):
        return f"this server is not {said!r}"
    origin = headers.get("origin")
    if origin is None:
        return "a websocket needs an Origin" if is_websocket else ""
    return "" if origin.lower() == f"http://{said.lower()}" else f"{origin!r} is another origin"


def guarded(app: App, host: str, port: int) -> App:
    """The app behind the checks, its answers with `HEADERS`."""

    async def guard(scope, receive, send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        is_websocket = scope["type"] == "websocket"
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        reason = refusal(headers, host, port, is_websocket)
        if reason and is_websocket:
            await receive()  # the request to connect
            return await send({"type": "websocket.close", "code": 1008, "reason": reason})  # an HTTP 403
        if reason:
            await _send_text(send, 403, f"refused: {reason}\n")
        else:
            await app(scope, receive, send if is_websocket else _with_headers(send))

    return guard


def _with_headers(send):
    async def send_with_headers(message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return send_with_headers


async def _send_text(send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _split(host: str) -> tuple[str, int]:
    """Name and port of a Host header; a browser leaves out port 80."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = host, "80"
    return name.strip("[]").lower(), int(port) if port.isdecimal() else -1


def _is_ours(name: str, host: str) -> bool:
    if is_loopback(host):
        return name in LOOPBACK or name == host.lower()
    if host in ("0.0.0.0", "::"):  # reached under any of the machine's addresses: rebinding needs a name, not a number
        return name in LOOPBACK or name == socket.gethostname().lower() or _is_number(name)
    return name == host.lower()


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
