"""The server: whom it talks to, what it hands out, and what it answers to messages that no page would send."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from made_up_runs import write_run
from websockets.sync.client import connect

from ndigo.cli import main
from ndigo.commands import view
from ndigo.commands.view import Arguments
from ndigo.errors import NdigoError
from ndigo.storage.episodes import save_episodes
from ndigo.viewer.guard import refusal
from ndigo.viewer.page import pack
from ndigo.viewer.server import bind
from ndigo.viewer.stage import Stage, packed
from ndigo.watching.recording import episode_key
from ndigo.watching.session import Session
from viewer.conftest import serving
from viewer.test_live_page import MAP

OPEN = {"type": "open", "panes": [{"agent": "0", "seed": 0}], "world": "exp1", "episode": 0}


def get(url: str, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    """A request with exactly this path and these headers."""
    port = int(url.split(":")[2].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items():
        connection.putheader(name, value.replace("PORT", str(port)))
    connection.endheaders()
    response = connection.getresponse()
    answer = response.status, response.read(), {name.lower(): value for name, value in response.getheaders()}
    connection.close()
    return answer


def test_the_page_comes_with_a_policy_that_lets_it_load_nothing_from_elsewhere(live):
    status, body, headers = get(live, "/")
    assert status == 200
    assert b"main.js" in body
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert get(live, "/main.js")[2]["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "//etc/passwd",
        "/static/../../server.py",
        "/server.py",
        "/.",
    ],
)
def test_nothing_outside_its_folder_is_served(live, path):
    status, body, _ = get(live, path)
    assert status == 404
    assert len(body) < 30


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:PORT"}, 200),
        ({"Origin": "http://127.0.0.1:PORT"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example:PORT"}, 403),  # a name that was made to resolve to this machine
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Host": "localhost:PORT", "Origin": "http://127.0.0.1:PORT"}, 403),
    ],
)
def test_other_origins_and_names_are_refused(live, headers, status):
    assert get(live, "/", **headers)[0] == status
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    answer = get_status(live, "/session", {"Origin": "http://127.0.0.1:PORT", **upgrade, **key, **headers})
    assert answer == (101 if status == 200 and "localhost" not in str(headers) else 403)


def get_status(url: str, path: str, headers: dict[str, str]) -> int:
    """The status alone: a connection that is upgraded has no body."""
    port = int(url.split(":")[2].strip("/"))
    lines = [
        f"{name}: {value.replace('PORT', str(port))}" for name, value in {"Host": "127.0.0.1:PORT", **headers}.items()
    ]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        return int(connection.recv(12).split()[1])


def test_a_websocket_without_an_origin_is_refused_and_a_browser_of_another_port_too(watch, live):
    assert refusal({"host": "127.0.0.1:80"}, "127.0.0.1", 80, is_websocket=True) == "a websocket needs an Origin"
    # To every request it says that it cannot; a connection that a browser opens and leaves unused holds up no other.
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as elsewhere:
        Thread(target=elsewhere.serve_forever).start()
        page = watch(f"http://127.0.0.1:{elsewhere.server_port}/")
        elsewhere.shutdown()
    attempt = """url => new Promise((done) => {
      const socket = new WebSocket(url);
      socket.onopen = () => done("open");
      socket.onerror = () => done("refused");
    })"""
    assert page.page.evaluate(attempt, live.replace("http", "ws") + "session") == "refused"


@pytest.mark.parametrize(
    ("host", "name", "is_ours"),
    [
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "192.168.0.7", False),
        ("192.168.0.7", "192.168.0.7", True),
        ("192.168.0.7", "localhost", False),
        ("0.0.0.0", "192.168.0.7", True),
        ("0.0.0.0", "evil.example", False),
        ("::", "[fe80::1]", True),
    ],
)
def test_a_server_answers_to_its_own_names(host, name, is_ours):
    assert (refusal({"host": f"{name}:8000"}, host, 8000, is_websocket=False) == "") == is_ours


def test_it_listens_on_this_machine_alone_and_says_when_a_port_is_taken(capsys):
    with bind(Arguments(paths=()).host, 0) as first:
        address, port = first.getsockname()
        assert address == "127.0.0.1"
        with bind("127.0.0.1", port) as second:
            other = second.getsockname()[1]
    assert capsys.readouterr().err == f"port {port} is taken; using {other}\n"
    with pytest.raises(NdigoError, match=r"^cannot listen on 192\.0\.2\.1 port 80: "):
        bind("192.0.2.1", 80)


def test_a_session_over_the_websocket_is_the_recorded_episode(live, recorded):
    with connect(live.replace("http", "ws") + "session", origin=live.strip("/")) as page:
        catalogue = json.loads(page.recv())["catalogue"]
        assert [agent["label"] for agent in catalogue["agents"]] == ["walker", "idler", "broken"]
        page.send(json.dumps(OPEN | {"n": 1}))
        opened = json.loads(page.recv())
        assert opened["n"] == 1
        assert opened["panes"][0]["meta"]["objects"] == recorded.meta["objects"]
        for n in range(2, 8):
            page.send(json.dumps({"type": "step", "action": None, "n": n}))
        for t in range(1, 7):
            (frame,) = json.loads(page.recv())["frames"]
            assert frame["t"] == t
            assert frame["a_tm1"] == recorded.a[0, t - 1]
            assert frame["reward"] == pytest.approx(recorded.reward[0, frame["reward_t"]], abs=1e-3)
        page.send("no json")
        assert json.loads(page.recv())["type"] == "refused"
        page.send(json.dumps({"type": "step", "action": 2, "n": 9}))
        assert json.loads(page.recv())["frames"][0]["t"] == 7


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ([], "a message must be an object"),
        ({"type": "stp"}, "unknown message 'stp'; nearest: step; known: drop, open, rewind, step"),
        ({"type": "step", "action": 5}, "action 5: must be from 0 to 4"),
        ({"type": "step", "action": "up"}, "action 'up': must be a whole number"),
        ({"type": "rewind", "t": 3}, "frame 3 is not there yet; the newest is 0"),
        ({"type": "drop", "object": 0, "cell": [0, 0]}, "there is a wall"),
        ({"type": "drop", "object": 0}, "a cell is a row and a column"),
        (OPEN | {"panes": []}, "a page shows 1 to 2 agents"),
        (OPEN | {"panes": [{"agent": "7"}]}, "there is no agent '7'"),
        (OPEN | {"panes": [{"agent": "0", "seed": 1}]}, "seed 1: must be a whole number from 0 to 0"),
        (OPEN | {"panes": [{"agent": "2"}]}, "broken.safetensors is damaged"),
        (OPEN | {"world": "exp9"}, "unknown world for walker 'exp9'; nearest: exp1; known: exp1"),
        (OPEN | {"episode": -1}, "episode -1: must be a whole number"),
        (OPEN | {"moves": [3]}, "a move must be an object"),
    ],
)
def test_a_message_that_asks_for_what_cannot_be_is_answered_with_one_line(stage, message, says):
    with pytest.raises(NdigoError) as refused:
        stage.answer(message)
    assert says in str(refused.value)
    assert stage.answer({"type": "rewind", "t": 0})["frames"][0]["t"] == 0  # the open episode is as it was


@pytest.fixture(scope="module")
def stage(company):
    stage = Stage(company)
    stage.answer(OPEN)
    return stage


def test_going_back_and_on_again_gives_the_same_frames_and_a_move_stays_behind(company, shipped):
    stage = Stage(company)
    stage.answer(OPEN)
    first = [stage.answer({"type": "step", "action": None})["frames"][0] for _ in range(4)]
    stage.answer({"type": "drop", "object": 0, "cell": [4, 9]})
    back = stage.answer({"type": "rewind", "t": 2})["frames"][0]
    assert back == first[1]
    assert [stage.answer({"type": "step", "action": None})["frames"][0] for _ in range(2)] == first[2:]
    moved = stage.answer(OPEN | {"moves": [{"action": 1}, {"drop": [0, 4, 9]}, {"action": None}]})["panes"][0]["frame"]
    same = Session(shipped, episode_key(0, 0))
    same.step(1)
    same.drop(0, 4, 9)
    same.step()
    assert moved == packed(same.frame())


def test_two_panes_move_an_object_both_or_neither(company):
    """The agents stand in different cells; where one of them is, the object cannot go."""
    stage = Stage(company)
    stage.answer(OPEN | {"panes": [{"agent": "0"}, {"agent": "1"}]})
    for _ in range(25):
        stage.answer({"type": "step", "action": None})
    frames = stage.answer({"type": "step", "action": None})["frames"]
    before = [frame["objects"] for frame in frames]
    agent = list(base64.b64decode(frames[0]["agent"]["data"]))
    assert agent[0] < 5  # the walker is in the upper room by then, the idler at the start
    with pytest.raises(NdigoError, match="the agent is there"):
        stage.answer({"type": "drop", "object": 0, "cell": agent})
    after = stage.answer({"type": "rewind", "t": 26})["frames"]
    assert [frame["objects"] for frame in after] == before


def test_a_recording_is_served_and_played(watch, recorded):
    with serving(None, pack([recorded])) as url:
        page = watch(url).ready()
        page.press("End")
        page.reach(400)
        assert float(page.number("fixed", "loss")) == pytest.approx(recorded.discovery_loss[0, 400, 0], abs=0.006)
        assert page.cells("world", MAP).shape == (*MAP, 3)
    with serving(None, pack([recorded])[:-9]) as url:
        assert "This cannot be shown: the recording is damaged" in watch(url).text(".notice")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no agents lie in results/agents here: name a run's folder, an agent's file or a recording"),
        (["nowhere"], "nowhere does not exist; name a run's folder"),
        (["empty"], "empty is no run and holds no agent"),
        (["agent.safetensors"], "agent.safetensors cannot be read as an agent"),
        (["noise.npz"], "noise.npz is no recording of episodes"),
        (["whole.npz", "agent.safetensors"], "recordings and agents cannot be watched together"),
        (["whole.npz", "--port", "99999"], "--port 99999: must be from 0 to 65535"),
        (["SHIPPED", "--experiment", "exp5"], "known: exp1, exp2, exp4"),
        (["whole.npz", "--host", "no.such.host.invalid"], "--host no.such.host.invalid: "),
    ],
)
def test_what_cannot_be_watched_is_one_line_and_exit_code_2(
    words, says, tmp_path, monkeypatch, recorded, request, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(view, "CHECKOUTS", (Path(),))  # as where the package is installed, and not its sources
    (tmp_path / "empty").mkdir()
    (tmp_path / "agent.safetensors").write_bytes(b"nothing of the kind")
    (tmp_path / "noise.npz").write_bytes(b"nothing of the kind")
    if "whole.npz" in words:
        save_episodes(tmp_path / "whole.npz", recorded)
    shipped = request.config.rootpath / "results/agents/exp1-ndigo-4.safetensors"
    assert main(["view", *(str(shipped) if word == "SHIPPED" else word for word in words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err


def test_a_run_is_called_by_the_whole_name_of_its_folder(tmp_path, monkeypatch):
    """Which is no file with the ending .001, and has that name from inside too."""
    run = write_run(tmp_path / "model-rate-0.001", world="exp1", reward="pe", seeds=1)
    monkeypatch.chdir(run)
    assert [view.describe(path, ()).label for path in (run, Path())] == ["model-rate-0.001: pe"] * 2


def test_without_arguments_the_best_agent_stands_beside_one_that_is_not_ndigos(request, monkeypatch):
    monkeypatch.chdir(request.config.rootpath)
    paths = view.opening_scene()
    assert paths[-1] == Path("results/agents")
    rewards = [view.describe(path, ()).reward.name for path in paths[:-1]]
    assert rewards[0].startswith("ndigo")
    assert not any(reward.startswith("ndigo") for reward in rewards[1:])
    args = Arguments(paths=paths)
    company = view.gather(args, view.find_all(args))
    assert company.compare
    assert len({performer.label for performer in company.performers}) == len(
        company.performers
    )  # none stands there twice


def test_without_the_extra_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "ndigo.viewer.server")
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert main(["view", "agent.safetensors"]) == 2
    assert capsys.readouterr().err.endswith(
        "pip install 'ndigo[viewer]', or in a checkout pip install -e '.[viewer]'\n"
    )
