"""Schedulers' variables as JAX reads them, and the JobSet's words as the shell hands them on; no scheduler runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ndigo.commands.train import Arguments

EXAMPLES = Path(__file__).parents[2] / "examples"
JOIN = """
import jax
from ndigo.devices.processes import agree, join
join(None, None, None)
why = agree("time" if jax.process_index() else "")
print(jax.process_index(), jax.process_count(), jax.config.values["jax_cuda_visible_devices"], why)
"""


def slurm(process: int) -> dict[str, str]:
    """What `srun --ntasks 2` sets on a node, as far as JAX reads it."""
    names = {"JOB_ID": 7, "STEP_NODELIST": "127.0.0.1", "NTASKS": 2, "PROCID": process, "LOCALID": process}
    return {f"SLURM_{name}": str(value) for name, value in names.items()}


def open_mpi(process: int) -> dict[str, str]:
    """What `mpirun -n 2` sets."""
    names = {"SIZE": 2, "RANK": process, "LOCAL_RANK": process}
    own = {f"OMPI_COMM_WORLD_{name}": str(value) for name, value in names.items()}
    return own | {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://127.0.0.1,10.148.0.1:34911"}


@pytest.mark.parametrize("variables", [slurm, open_mpi])
def test_processes_find_each_other_by_a_schedulers_variables_and_have_one_gpu_each(variables):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])  # the schedulers' own is made from the job's number, and may be taken here
    with ExitStack() as stack:
        started = []
        for process in range(2):
            env = os.environ | variables(process) | {"JAX_COORDINATOR_PORT": port, "JAX_PLATFORMS": "cpu"}
            pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            started.append(stack.enter_context(subprocess.Popen([sys.executable, "-c", JOIN], env=env, **pipes)))
            stack.callback(started[-1].kill)
        for process, child in enumerate(started):
            out, err = child.communicate(timeout=200)
            assert out.splitlines()[-1:] == [f"{process} 2 {process} time"], err


def words_of_pod(index: int, runs: Path) -> list[str]:
    """What the JobSet's container starts `ndigo` with; a program of that name tells its words."""
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((EXAMPLES / "jobset.yaml").read_text())["spec"]["replicatedJobs"][0]["template"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c"]
    teller = runs / "bin" / "ndigo"
    teller.parent.mkdir(exist_ok=True)
    teller.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    teller.chmod(0o755)
    env = {"PATH": f"{teller.parent}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": str(index)}
    script = container["args"][0].replace("/runs/", f"{runs}/")
    done = subprocess.run([*container["command"], script], env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def read(words: list[str]) -> Arguments:
    import tyro

    assert words[0] == "train"
    return tyro.cli(Arguments, args=words[1:])


def test_a_jobsets_pods_are_the_processes_of_one_run_and_go_on_after_a_restart(tmp_path):
    yaml = pytest.importorskip("yaml")
    jobset = yaml.safe_load((EXAMPLES / "jobset.yaml").read_text())
    (group,) = jobset["spec"]["replicatedJobs"]
    pods = group["template"]["spec"]
    (container,) = pods["template"]["spec"]["containers"]
    first = read(words_of_pod(2, tmp_path))
    assert first.resume is None
    assert (first.processes, first.process) == (pods["parallelism"], 2) == (pods["completions"], 2)
    # JobSet's name of the first pod: JOBSET-GROUP-JOB-POD.SUBDOMAIN
    name = jobset["metadata"]["name"]
    assert first.coordinator == f"{name}-{group['name']}-0-0.{name}:1234"
    devices = pods["parallelism"] * container["resources"]["limits"]["nvidia.com/gpu"]
    assert first.settings.seeds % devices == 0
    run = tmp_path / "exp1"
    assert first.out == run
    run.mkdir()
    (run / "config.json").touch()
    again = read(words_of_pod(2, tmp_path))
    assert (again.resume, again.world) == (run, None)
    assert (again.coordinator, again.processes, again.process) == (first.coordinator, 4, 2)
