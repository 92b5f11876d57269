"""What `ndigo sweep --on ray` does before Ray is asked; tests/peers has the engine itself."""

from __future__ import annotations

import socket
import types

import pytest
from sweep_files import write_sweep

from ndigo.errors import NdigoError
from ndigo.scale import ray
from ndigo.scale.engine import Asked
from ndigo.scale.sweep import read_sweep


def test_an_address_where_nothing_listens_is_refused_before_ray_tries_it_for_minutes(tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "load_extra", lambda *names: types.SimpleNamespace())  # whose `init` is not called
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml"), tmp_path / "rows")
    with socket.socket() as unheard:  # bound, so nobody else's; not listening
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999"):
            with pytest.raises(NdigoError, match=rf"no Ray cluster at {address} answers \("):
                ray.launch(sweep, sweep.rows, Asked(address=address))
    assert not sweep.out.exists()
