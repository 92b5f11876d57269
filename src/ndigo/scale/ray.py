"""A Ray cluster that runs already: a row is a task with its GPU (or rows that share a program are), and Ray queues it,
places it and tries it again.

The tasks belong to a detached actor and not to the command, which may be stopped; the run folders lie on storage that
every node sees, and `ndigo` is installed on every node.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from ndigo.errors import NdigoError
from ndigo.scale.engine import Asked, Work, load_extra
from ndigo.scale.job import train_rows
from ndigo.scale.note import Interrupted, Note, read_note, reason, write_note
from ndigo.scale.sweep import Sweep, SweepRow
from ndigo.scale.vary import packs
from ndigo.storage.run_folder import WriteError

NAMESPACE = "ndigo"
RETRIES = 10  # of a row whose node or worker is lost; [ray] max_retries says another number
KNOCK_SECONDS = 10.0
ACTOR_SECONDS = 60.0  # that a busy cluster may take to answer


def launch(sweep: Sweep, rows: Sequence[SweepRow], asked: Asked) -> Work:
    ray = load_extra("ray", "ray")
    try:
        _knock(asked.address)
        ray.init(asked.address or "auto", namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        where = f"at {asked.address}" if asked.address else "of this machine"
        hint = "start one with ray start --head, or name one with --address"
        raise NdigoError(f"no Ray cluster {where} answers ({reason(error)}); {hint}") from None
    options = _options(ray, sweep.takes["ray"])
    name = f"sweep {sweep.out.absolute()}"
    if (earlier := _earlier(ray, name)) is not None:
        return earlier
    if not rows:
        return Work("the Ray cluster, which has none of them", lambda: True, poll_seconds=1.0)
    for row in rows:
        write_note(row.path, Note("queued", "ray", time.time()))
    # max_restarts: where its node is lost, the actor begins anew on another, and its rows go on from their folders.
    lasting = {"name": name, "lifetime": "detached", "num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}
    made = packs(rows, sweep.pack, _places(ray.cluster_resources(), options) or len(rows))
    return _watch(ray, ray.remote(Foreman).options(**lasting).remote(made, options), _about(ray, options))


def _knock(address: str | None) -> None:
    """An OSError where nothing listens at HOST:PORT; Ray itself would try for minutes, and then end the process."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()


def _places(resources: dict[str, float], options: dict[str, Any]) -> int:
    """Tasks that the cluster's GPUs train at once; 0 where they take none."""
    return int(resources.get("GPU", 0) / options["num_gpus"]) if options["num_gpus"] else 0


def _earlier(ray: Any, name: str) -> Work | None:
    """What an earlier command has put on the cluster, if any of it is left."""
    try:
        work = _watch(ray, ray.get_actor(name), "the Ray cluster, where an earlier command has put them")
    except ValueError:
        return None
    return None if work.is_over() else work


def _options(ray: Any, takes: dict[str, Any]) -> dict[str, Any]:
    """What a row takes: the file's table [ray] over our defaults, in the words of Ray's `options`."""
    has_gpus = ray.cluster_resources().get("GPU", 0) > 0
    options = {
        "num_cpus": 1,
        "num_gpus": int(has_gpus),
        "max_retries": RETRIES,
        "retry_exceptions": [Interrupted],  # a node that is taken away with notice ends its rows by SIGTERM
    } | takes
    try:
        ray.remote(train_rows).options(**options)
    except (ValueError, TypeError) as error:
        raise NdigoError(f"[ray] of the sweep: {reason(error)}") from None
    return options


def _about(ray: Any, options: dict[str, Any]) -> str:
    nodes = sum(node["Alive"] for node in ray.nodes())
    return f"a Ray cluster of {nodes} nodes, {options['num_cpus']} CPUs and {options['num_gpus']} GPUs per row"


def _watch(ray: Any, foreman: Any, about: str) -> Work:
    def is_over() -> bool:
        try:
            return ray.get(foreman.num_left.remote(), timeout=ACTOR_SECONDS) == 0
        except (ray.exceptions.ActorUnavailableError, ray.exceptions.GetTimeoutError):
            return False  # on its way to another node
        except ray.exceptions.RayActorError:  # it has ended, as it does after the last row
            return True

    return Work(about, is_over, poll_seconds=1.0, outlives="ray status, or the cluster's dashboard")


class Foreman:
    """The actor that owns the rows' tasks. It ends with the last of them, whether anybody watches or not."""

    def __init__(self, packs: Sequence[Sequence[SweepRow]], options: dict[str, Any]):
        self._ray = load_extra("ray", "ray")
        task = self._ray.remote(train_rows).options(**options)
        self._rows = {task.remote(rows, "ray"): rows for rows in packs}
        self._own_handle = self._ray.get_runtime_context().current_actor
        threading.Thread(target=self._collect, daemon=True).start()

    def num_left(self) -> int:
        return len(self._rows)

    def _collect(self) -> None:
        while self._rows:
            for task in self._ray.wait(list(self._rows))[0]:
                try:
                    self._ray.get(task)
                except self._ray.exceptions.RayTaskError:
                    pass  # raised by the row's job, which has noted it
                except Exception as error:
                    for row in self._rows[task]:
                        _note_loss(row, error)
                del self._rows[task]
        self._ray.kill(self._own_handle)


def _note_loss(row: SweepRow, error: Exception) -> None:
    """What Ray alone knows: the row was lost more often than it is tried again."""
    found = read_note(row.path)
    if found is not None:
        with contextlib.suppress(WriteError):
            write_note(row.path, dataclasses.replace(found[0], state="failed", why=reason(error)))
