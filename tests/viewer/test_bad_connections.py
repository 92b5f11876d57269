"""Connections that no page makes: each is closed, in one line, and the others go on."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from ndigo.viewer.server import PunctualProtocol, _answer
from ndigo.viewer.stage import Company, Stage
from viewer.conftest import serving
from viewer.test_server import OPEN, get

PATIENCE = 30.0  # seconds; a machine may be busy
TEXT, BINARY, PING = 1, 2, 9


def frame(kind: int, payload: bytes, *, is_masked: bool = True, reserved: int = 0) -> bytes:
    """A websocket frame, byte by byte (RFC 6455, 5.2); masked with zeros."""
    size = len(payload)
    mask = 0x80 if is_masked else 0
    if size < 126:
        length = bytes([mask | size])
    elif size < 1 << 16:
        length = bytes([mask | 126]) + struct.pack(">H", size)
    else:
        length = bytes([mask | 127]) + struct.pack(">Q", size)
    return bytes([0x80 | reserved << 4 | kind]) + length + (bytes(4) if is_masked else b"") + payload


def session(url: str) -> ClientConnection:
    return connect(url.replace("http", "ws") + "session", origin=Origin(url.strip("/")))


FRAMES = {
    "binary": (frame(BINARY, b"abc"), "a message that is not text"),
    "not UTF-8": (frame(TEXT, b"\xff\xfe"), "text that is not UTF-8"),
    "deep": (frame(TEXT, b"[" * 20_000 + b"]" * 20_000), "JSON that is nested too deep"),
    "deep and cut short": (frame(TEXT, b'{"a":' * 20_000), "JSON that is nested too deep"),
    "unmasked": (frame(TEXT, b"{}", is_masked=False), "a frame that is none"),
    "reserved bits": (frame(TEXT, b"{}", reserved=4), "a frame that is none"),
    "unknown kind": (frame(5, b"{}"), "a frame that is none"),
    "continues nothing": (frame(0, b"{}"), "a frame that is none"),
    "long ping": (frame(PING, bytes(200)), "a frame that is none"),
    "too large": (frame(TEXT, b"1" * (1 << 18)), "a message that is too large"),
    "larger than all": (b"\x81\xff" + b"\xff" * 8, "a message that is too large"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_that_no_page_sends_closes_its_connection_in_one_line(name, live, capfd):
    data, what = FRAMES[name]
    with session(live) as bystander, session(live) as page:
        bystander.recv()
        page.recv()
        page.socket.sendall(data)
        with pytest.raises(ConnectionClosed):
            page.recv(PATIENCE)
        bystander.send(json.dumps({"type": "rewind", "t": 0, "n": 1}))
        assert json.loads(bystander.recv(PATIENCE)) == {"type": "refused", "message": "no episode is open", "n": 1}
    assert capfd.readouterr().err == f"a page's connection is closed: it sent {what}\n"


def test_a_body_that_is_none_is_one_line(live, caplog):
    host, port = live.removeprefix("http://").strip("/").split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as sent:
        sent.sendall(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".encode())
        assert sent.recv(100).startswith(b"HTTP/1.1 400")
        while sent.recv(1000):
            pass
    assert get(live, "/")[0] == 200
    assert caplog.messages == ["Invalid HTTP request received."]


def test_a_request_half_sent_is_not_waited_for(live, monkeypatch):
    monkeypatch.setattr(PunctualProtocol, "seconds", 0.2)
    port = int(live.split(":")[2].strip("/"))
    began = time.monotonic()
    silent = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    half = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    half.sendall(b"GET / HTTP/1.1\r\nHost: 127")
    again = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    again.sendall(f"GET /theme.js HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert again.recv(1 << 16).startswith(b"HTTP/1.1 200")
    again.sendall(b"GET / HT")
    for connection in (silent, half, again):
        while connection.recv(1 << 16):
            pass  # what was left of the page; then the end
        connection.close()
    assert time.monotonic() - began < PATIENCE
    assert get(live, "/")[0] == 200


def test_a_session_outlives_the_time_for_a_request(live, monkeypatch):
    monkeypatch.setattr(PunctualProtocol, "seconds", 0.2)
    with session(live) as page:
        page.recv()
        time.sleep(0.5)
        page.send(json.dumps({"type": "rewind", "t": 0, "n": 1}))
        assert json.loads(page.recv(PATIENCE))["type"] == "refused"


def test_one_page_too_many_is_told_so_and_gets_the_next_free_place(company):
    def greeting(page: ClientConnection) -> dict[str, str]:
        return json.loads(page.recv(PATIENCE))

    with serving(company, most_sessions=2) as url, session(url) as first:
        with session(url) as second, session(url) as third:
            assert greeting(first)["type"] == greeting(second)["type"] == "hello"
            message = "2 pages are open, and that is all; close one, then load this one again"
            assert greeting(third) == {"type": "full", "message": message}
            with pytest.raises(ConnectionClosed):
                third.recv(PATIENCE)
        deadline, kind = time.monotonic() + PATIENCE, ""
        while kind != "hello":  # until the server has seen the second go
            assert time.monotonic() < deadline
            with session(url) as fourth:
                kind = greeting(fourth)["type"]


def test_a_page_that_finds_no_place_says_so(watch, company):
    with serving(company, most_sessions=0) as url:
        page = watch(url)
        page.wait_for("the notice", lambda: "pages are open, and that is all" in page.page.inner_text("body"))


def test_messages_of_any_content_are_answered_or_refused(company: Company):
    """Whatever JSON a message holds, the reply is JSON, and the open episode can be gone on with."""
    rng = random.Random(0)
    stage = Stage(company)
    stage.answer(OPEN)
    values = [
        None,
        True,
        -1,
        0,
        3,
        2**70,
        1.5,
        float("inf"),
        "",
        "0",
        "exp1",
        "🙂",
        [],
        [0],
        [0, 1],
        {},
        {"agent": "0"},
    ]
    names = ["type", "action", "t", "object", "cell", "panes", "world", "episode", "moves", "n"]

    async def talk() -> None:
        for _ in range(300):
            message = {name: rng.choice(values) for name in rng.sample(names, rng.randrange(len(names)))}
            message["type"] = rng.choice(["open", "step", "drop", "rewind", rng.choice(values)])
            reply = json.loads(await _answer(stage, json.dumps(message)))
            assert reply["type"] in ("refused", "frames", "opened")

    with ThreadPoolExecutor(1) as thread:  # the browser's event loop is this thread's
        thread.submit(asyncio.run, talk()).result()
    stage.answer(OPEN)
    assert stage.answer({"type": "step", "action": None})["frames"][0]["t"] == 1
