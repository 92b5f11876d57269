"""Checkpoints are whole or absent, and know when they are damaged."""

import hashlib
import itertools
import json
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from full_disk import files_end_at
from killed import KilledError, kill_at

from ndigo.errors import NdigoError
from ndigo.storage import checkpoint
from ndigo.storage.run_folder import WriteError
from ndigo.storage.seal import seal

MARK = "0123456789abcdef"
MISMATCH = "state.safetensors does not match its sha256"


def arrays(step: int) -> dict[str, np.ndarray]:
    return {".weight": np.full((100, 10), step, np.float32), ".step": np.array(step, np.int32)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Checkpoints of steps 2 and 3; step 1 has been removed."""
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, step, arrays(step), MARK)
    return tmp_path


def newest(folder: Path, mark: str = MARK) -> tuple[int, list[str]]:
    """The step that loads, once its content is right, and what was said on the way."""
    said: list[str] = []
    step, loaded = checkpoint.load_newest(folder, mark, said.append)
    assert loaded[".step"] == step
    assert (loaded[".weight"] == step).all()
    return step, said


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def flip_a_byte(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def test_the_newest_two_are_kept(folder):
    assert names(folder) == ["step_2", "step_3"]
    assert newest(folder) == (3, [])


@pytest.mark.parametrize("at", [0, 60, -1])
def test_a_flipped_byte_is_named_and_the_previous_one_is_used(folder, at):
    flip_a_byte(folder / "step_3" / "state.safetensors", at)
    step, said = newest(folder)
    assert step == 2
    assert said == [f"checkpoint {folder}/step_3 is damaged ({MISMATCH})"]


@pytest.mark.parametrize("size", [0, 7, 1000])
def test_a_truncated_file_is_named_and_the_previous_one_is_used(folder, size):
    os.truncate(folder / "step_3" / "state.safetensors", size)
    assert newest(folder) == (
        2,
        [f"checkpoint {folder}/step_3 is damaged ({MISMATCH})"],
    )


@pytest.mark.parametrize("name", ["manifest.json", "state.safetensors"])
def test_a_missing_file_is_named_and_the_previous_one_is_used(folder, name):
    (folder / "step_3" / name).unlink()
    assert newest(folder) == (2, [f"checkpoint {folder}/step_3 is damaged ({name}: No such file or directory)"])


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"step": 3}', b"\xff", seal(b'{"step": 3}')])
def test_a_manifest_that_is_no_manifest_is_named(folder, data):
    (folder / "step_3" / "manifest.json").write_bytes(data)
    assert newest(folder) == (2, [f"checkpoint {folder}/step_3 is damaged (manifest.json is not as it was written)"])


def test_a_checkpoint_of_another_configuration_is_named_and_the_previous_one_is_used(folder):
    checkpoint.save(folder, 4, arrays(4), "another")
    assert newest(folder) == (3, [f"checkpoint {folder}/step_4 was written by a run of another configuration"])


def test_when_none_can_be_used_the_error_lists_them(folder):
    for step in (2, 3):
        os.truncate(folder / f"step_{step}" / "state.safetensors", 5)
    with pytest.raises(NdigoError, match=r"^no checkpoint in \S+ can be used: steps 3, 2$"):
        newest(folder)


def test_a_full_disk_leaves_the_earlier_ones_and_nothing_half_written(folder):
    with files_end_at(1000), pytest.raises(WriteError) as error:
        checkpoint.save(folder, 4, arrays(4), MARK)
    assert str(error.value).startswith("checkpoint of step 4 is not saved (cannot write ")
    assert str(error.value).endswith("; the last good checkpoint is step 3")
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 1
    assert names(folder) == ["step_2", "step_3"]
    assert newest(folder) == (3, [])


def test_a_first_checkpoint_that_does_not_fit_says_there_is_none(tmp_path):
    with files_end_at(10), pytest.raises(WriteError, match=r"there is no earlier checkpoint$"):
        checkpoint.save(tmp_path, 1, arrays(1), MARK)
    assert names(tmp_path) == []


def test_what_a_kill_left_behind_is_no_checkpoint_and_is_cleared(folder):
    (folder / ".step_4.tmp").mkdir()
    (folder / ".step_4.tmp" / "state.safetensors").write_bytes(b"half")
    assert newest(folder) == (3, [])
    checkpoint.remove_unfinished(folder)
    assert names(folder) == ["step_2", "step_3"]


def test_a_kill_while_a_step_is_saved_once_more_leaves_the_old_one_or_the_new_one(tmp_path, monkeypatch):
    """The only checkpoint: without it nothing is left to go on from."""
    found = []
    for point in itertools.count():
        folder, is_killed = tmp_path / f"{point}", False
        checkpoint.save(folder, 3, {"a": np.zeros(99)}, MARK)
        with monkeypatch.context() as patched:
            kill_at(point, patched)
            try:
                checkpoint.save(folder, 3, {"a": np.ones(99)}, MARK)
            except KilledError:
                is_killed = True
        step, loaded = checkpoint.load_newest(folder, MARK, pytest.fail)
        assert (step, len(np.unique(loaded["a"]))) == (3, 1)
        found.append(loaded["a"][0])
        checkpoint.remove_unfinished(folder)
        assert names(folder) == ["step_3"]
        np.testing.assert_array_equal(checkpoint.load(folder / "step_3", MARK)["a"], loaded["a"])
        if not is_killed:
            break
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, 1)


def test_a_step_that_cannot_be_saved_once_more_is_as_it_was(folder, monkeypatch):
    real = os.replace

    def replace(source, to):
        if Path(source).name == ".step_3.tmp":
            raise OSError(28, "No space left on device")
        real(source, to)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(WriteError, match=r"the last good checkpoint is step 3$"):
        checkpoint.save(folder, 3, {"a": np.ones(99)}, MARK)
    assert names(folder) == ["step_2", "step_3"]
    assert newest(folder) == (3, [])


def test_names_that_are_not_ours_are_neither_read_nor_removed(folder):
    """A diary, a copy, a step with a leading zero: nothing of it is a checkpoint."""
    others = [".diary.tmp", ".step_x.tmp", ".step_4.tmp.old", ".step_04.old.tmp", "step_007", "step_4-copy", "step_٤"]
    for name in others:
        (folder / name).mkdir()
        (folder / name / "state.safetensors").write_bytes(b"precious")
    checkpoint.remove_unfinished(folder)
    assert newest(folder) == (3, [])
    checkpoint.save(folder, 4, arrays(4), MARK)
    assert names(folder) == sorted(["step_3", "step_4", *others])


def test_a_checkpoint_under_another_steps_name_is_named_and_not_used(folder):
    for step in (2, 3):
        os.replace(folder / f"step_{step}", folder / f"swapped_{step}")
    os.replace(folder / "swapped_2", folder / "step_3")
    os.replace(folder / "swapped_3", folder / "step_2")
    said: list[str] = []
    with pytest.raises(NdigoError, match=r"^no checkpoint in \S+ can be used: steps 3, 2$"):
        checkpoint.load_newest(folder, MARK, said.append)
    assert said == [
        f"checkpoint {folder}/step_{name} is not what its name says: it is of step {step}"
        for name, step in ((3, 2), (2, 3))
    ]


def test_the_writer_writes_in_order_and_its_errors_come_out(tmp_path):
    with checkpoint.CheckpointWriter(tmp_path, MARK) as writer:
        for step in (1, 2, 3):
            writer.write(step, arrays(step))
    assert newest(tmp_path) == (3, [])
    with checkpoint.CheckpointWriter(tmp_path, MARK) as writer, files_end_at(10):
        writer.write(4, arrays(4))
        with pytest.raises(WriteError):
            writer.wait()
    assert newest(tmp_path) == (3, [])


def test_a_tree_comes_back_bit_for_bit_with_its_random_keys():
    tree = {
        "weight": jnp.array([1.5, -0.0, 1e-42]),
        "half": jnp.array([1.5], jnp.bfloat16),
        "key": jax.random.split(jax.random.key(3), 2),
        "count": jnp.int32(7),
    }
    back = checkpoint.into_tree(checkpoint.named_arrays(tree), jax.eval_shape(lambda: tree), "here")
    assert (jax.random.key_data(back["key"]) == jax.random.key_data(tree["key"])).all()
    for name in ("weight", "half", "count"):
        assert back[name].dtype == tree[name].dtype
        assert np.asarray(back[name]).tobytes() == np.asarray(tree[name]).tobytes()


def test_copies_do_not_change_when_the_device_reuses_the_memory():
    double = jax.jit(lambda x: 2 * x, donate_argnums=0)
    x = jnp.ones(1000)
    copy = checkpoint.named_arrays({"x": x})["['x']"]
    double(x).block_until_ready()
    assert (copy == 1).all()


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ({"a": jnp.zeros(3), "b": jnp.zeros(2)}, r"it lacks tensor \['b'\]"),
        ({}, r"it has the unknown tensor \['a'\]"),
        ({"a": jnp.zeros(4)}, r"\['a'\] is float32\[3\], expected float32\[4\]"),
        ({"a": jnp.zeros(3, int)}, r"\['a'\] is float32\[3\], expected int32\[3\]"),
    ],
)
def test_a_tree_of_another_shape_is_refused_by_the_first_tensor_that_differs(like, message):
    says = f"^here is of another configuration, or of another version of ndigo: {message}; train it anew$"
    with pytest.raises(NdigoError, match=says):
        checkpoint.into_tree({"['a']": np.zeros(3, np.float32)}, like, "here")


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 99, (2**62).to_bytes(8, "little") + b"{}", b"\x08" + b"\0" * 7 + b'{"a":5}   ']
)
def test_a_state_that_is_no_arrays_is_named_though_its_digest_is_right(data, tmp_path):
    path = checkpoint.save(tmp_path, 4, {"a": np.zeros(3)}, "mark")
    (path / "state.safetensors").write_bytes(data)
    manifest = {"step": 4, "state": hashlib.sha256(data).hexdigest(), "fingerprint": "mark"}
    (path / "manifest.json").write_bytes(seal(json.dumps(manifest).encode()) + b"\n")
    with pytest.raises(NdigoError, match=r"step_4 holds no arrays that can be read$"):
        checkpoint.load(path, "mark")


def test_what_was_just_saved_stays_beside_later_ones(tmp_path):
    """Of a run that begins anew in the folder of another, or goes on from before a damaged one."""
    for step in (8, 12, 4):
        checkpoint.save(tmp_path, step, {"a": np.zeros(3)}, "mark")
    assert checkpoint.steps(tmp_path) == [12, 8, 4]
