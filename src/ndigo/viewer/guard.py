"""Who may talk to the server: pages that came from it, under a name that is its own.

Any site can make a browser send requests to a port of the same machine. Such a request says where it comes from
(Origin), and a site that has its own name resolved to this machine (DNS rebinding) still says that name (Host). Both
are checked, for pages and for websockets, before anything else sees the request.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

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


def refusal(headers: Mapping[str, str], host: str, port: int, is_websocket: bool) -> str:
    """Why a request to a server bound to host and port is refused, or "" where it is not."""
    said = headers.get("host", "").lower()
    name = said.removesuffix(f":{port}")
    is_port_ours = name != said or port == 80  # which a browser leaves out
    if not is_port_ours or not _is_ours(name.strip("[]"), host.lower()):
        return f"this server is not {said!r}"
    origin = headers.get("origin")
    if origin is None:
        return "a websocket needs an Origin" if is_websocket else ""
    return "" if origin.lower() == f"http://{said}" else f"{origin!r} is another origin"


def _is_ours(name: str, host: str) -> bool:
    address = _address(host)
    if address is not None and address.is_unspecified:  # 0.0.0.0 and ::, reached under any of the machine's addresses
        # Rebinding needs a name, not a number.
        return name in ("localhost", socket.gethostname().lower()) or _address(name) is not None
    is_loopback = host == "localhost" if address is None else address.is_loopback
    return name == host or (is_loopback and name in LOOPBACK)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def guarded(app: ASGIApp, host: str, port: int) -> ASGIApp:
    """The app behind the checks, its answers with `HEADERS`."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        is_websocket = scope["type"] == "websocket"
        answer = app
        if reason := refusal(HTTPConnection(scope).headers, host, port, is_websocket):
            page = PlainTextResponse(f"refused: {reason}\n", 403)
            answer = WebSocketClose(1008, reason) if is_websocket else page  # before it is accepted: an HTTP 403
        await answer(scope, receive, send_with_headers)

    return guard
