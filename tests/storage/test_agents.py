"""Agent files: small, whole, and refused when they are anything else."""

import numpy as np
import pytest
import safetensors.numpy
from full_disk import files_end_at

from ndigo.errors import NdigoError
from ndigo.storage.agents import _digest, load_agent, save_agent
from ndigo.storage.run_folder import WriteError

WEIGHTS = {"w": np.linspace(-1, 1, 1001, dtype=np.float32), "n": np.arange(3)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "agents" / "a.safetensors"
    save_agent(path, WEIGHTS, {"reward": "pe"})
    return path


def test_weights_come_back_within_half_precision_and_counts_exactly(path):
    settings, arrays = load_agent(path)
    assert settings == {"reward": "pe"}
    assert arrays["w"].dtype == np.float32
    np.testing.assert_allclose(arrays["w"], WEIGHTS["w"], atol=2**-12)
    assert (arrays["n"] == WEIGHTS["n"]).all()
    assert path.stat().st_size < 3000


def test_every_flipped_byte_is_noticed(path):
    whole = path.read_bytes()
    for at in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[at] ^= 4
        path.write_bytes(bytes(damaged))
        with pytest.raises(NdigoError, match=r"a\.safetensors (is damaged|cannot be read|is a safetensors file)"):
            load_agent(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_neither_written_nor_read(bad, tmp_path):
    path, weights = tmp_path / "a.safetensors", np.array([1, bad], np.float32)
    with pytest.raises(NdigoError, match=r"^the agent for \S+ cannot be used: tensor w holds numbers that are not fin"):
        save_agent(path, {"w": weights}, {})
    assert not path.exists()
    # As another program could write one: sealed, and sound but for its numbers.
    half = {"w": weights.astype(np.float16)}
    header = {"ndigo": "{}", "sha256": _digest("{}", half)}
    safetensors.numpy.save_file(half, path, metadata=header)
    with pytest.raises(NdigoError, match=r"a\.safetensors cannot be used: tensor w holds numbers that are not finite$"):
        load_agent(path)


def test_a_weight_that_half_precision_cannot_hold_is_named_and_nothing_is_written(tmp_path):
    path = tmp_path / "a.safetensors"
    save_agent(path, {"w": np.array([65504.0, -65504.0], np.float32)}, {})
    before = path.read_bytes()
    with pytest.raises(NdigoError, match=r"is not written: tensor w reaches 70000, and float16 holds 65504$"):
        save_agent(path, {"w": np.array([1.0, -70000.0], np.float32)}, {})
    assert path.read_bytes() == before


@pytest.mark.parametrize("size", [0, 5, 100, 1500])
def test_a_truncated_file_is_one_line(path, size):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(NdigoError, match="cannot be read as an agent") as error:
        load_agent(path)
    assert "\n" not in str(error.value)


def test_other_files_are_no_agents(tmp_path):
    with pytest.raises(NdigoError, match=r"missing\.safetensors does not exist"):
        load_agent(tmp_path / "missing.safetensors")
    safetensors.numpy.save_file({"w": np.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(NdigoError, match="is a safetensors file, but not an agent of this library"):
        load_agent(tmp_path / "other.safetensors")


def test_a_full_disk_leaves_the_agent_that_was_there(path):
    before = path.read_bytes()
    with files_end_at(500), pytest.raises(WriteError):
        save_agent(path, WEIGHTS, {"reward": "icm"})
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
