"""Runs the job of a fault in one layout and collects what it printed. Does not know what the right diagnosis is."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.data import write_data
from tests.lab.fault import Fault
from tests.lab.neutral import neutralise, neutralise_dump

JOBS = Path(__file__).parent / "jobs"
LIMIT_S = 240.0


@dataclass(frozen=True)
class Recording:
    """What a job left behind: relative path of each file and its neutral text, or the bytes of a flight-recorder dump."""

    files: dict[str, str | bytes]


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on at this moment."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def set_up(fault: Fault, folder: Path, python: Path) -> None:
    """Copies the job's scripts into `folder`, writes its data there, makes its earlier run and lets the fault change them."""
    shutil.copytree(JOBS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    write_data(folder, fault.world_size)
    (folder / "checkpoints").mkdir()
    if fault.first_run:
        command = [*_torchrun(python), "--master-port", str(free_port()), "train.py", *fault.first_run]
        subprocess.run(command, cwd=folder, env=_environment(fault, python), check=True, capture_output=True, timeout=LIMIT_S)
    if fault.prepare:
        fault.prepare(folder)


def run(fault: Fault, folder: Path, python: Path) -> Recording:
    """Runs the job of `fault` in `folder` (empty or new) with that Python; returns when it has ended or was cut off."""
    set_up(fault, folder, python)
    return LAYOUTS[fault.layout](fault, folder, python)


def _environment(fault: Fault, python: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in {"LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"}}
    kept |= {"PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "GLOO_SOCKET_IFNAME": "lo", "PYTHONUNBUFFERED": "1"}
    if fault.disturbance:
        kept["LAB_DISTURBANCE"] = json.dumps(dict(fault.disturbance))
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"} | dict(fault.environment)


def _torchrun(python: Path) -> list[str]:
    script = python.parent / "torchrun"
    return [str(script)] if script.exists() else [str(python), "-m", "torch.distributed.run"]


@contextlib.contextmanager
def _started(command: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The running command, its stderr joined to its stdout, in a session of its own; whatever is left of it is killed at the end."""
    pipe, nothing, joined = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=nothing, stdout=pipe, stderr=joined, start_new_session=True)
    try:
        yield process
    finally:
        _kill_job(process.pid, folder)
        process.wait()
        if process.stdout:
            process.stdout.close()


def _kill_job(leader: int, folder: Path) -> None:
    """Kills the session of `leader` and the processes that work in `folder`; torchrun starts each rank in a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(entry / "cwd")) == folder.resolve() and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)


def _communicate(process: subprocess.Popen[bytes], fault: Fault) -> str:
    """Reads the output to its end. A fault that cuts its job off signals the launcher at that time."""
    timer: threading.Timer | None = None
    if fault.cut_after_s is not None:
        timer = threading.Timer(fault.cut_after_s, process.send_signal, (fault.cut_signal,))
        timer.start()
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        if timer:
            timer.cancel()
    return output.decode("utf-8", "replace")


@contextlib.contextmanager
def _rendezvous_port(fault: Fault) -> Iterator[int]:
    """A port for the job to meet at; with `occupy_port` somebody else listens there already."""
    if not fault.occupy_port:
        yield free_port()
        return
    with contextlib.closing(socket.socket(socket.AF_INET6)) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        other.bind(("::", 0))
        other.listen()
        yield int(other.getsockname()[1])


def _one_agent(fault: Fault, folder: Path, python: Path, launcher: Sequence[str] = ()) -> str:
    with _rendezvous_port(fault) as port:
        command = [*_torchrun(python), "--nproc-per-node", str(fault.world_size), "--master-port", str(port), *launcher, *fault.launcher]
        with _started([*command, fault.script, *fault.arguments], folder, _environment(fault, python)) as process:
            return neutralise(_communicate(process, fault), job=folder, python=python, host="node01")


def combined(fault: Fault, folder: Path, python: Path) -> Recording:
    """One agent; stdout and stderr of all ranks in one file, no prefix added by the launcher."""
    return Recording({"log.txt": _one_agent(fault, folder, python)})


def tee(fault: Fault, folder: Path, python: Path) -> Recording:
    """One agent with `--tee 3`: every line of a rank carries [default<local rank>]:."""
    return Recording({"log.txt": _one_agent(fault, folder, python, ["--tee", "3", "--log-dir", "logs"])})


def per_rank(fault: Fault, folder: Path, python: Path) -> Recording:
    """One agent with `--redirects 3 --log-dir`: the launcher's own output, and a folder with stdout.log and stderr.log of each rank."""
    console = _one_agent(fault, folder, python, ["--redirects", "3", "--log-dir", "logs"])
    files: dict[str, str | bytes] = {"logs/torchrun.log": console}
    for path in sorted((folder / "logs").rglob("*.log")):
        text = neutralise(path.read_text(errors="replace"), job=folder, python=python, host="node01")
        relative = path.relative_to(folder / "logs").parts
        files["/".join(("logs", "none_q7f3kz1c", *relative[1:]))] = text
    return Recording(files)


def _two_agents(fault: Fault, folder: Path, python: Path) -> list[list[tuple[float, str]]]:
    """The timed lines of two agents, each a node with half of the ranks. `{port}` in the launcher's arguments is the port to meet at."""
    port = free_port()
    launcher = [argument.format(port=port) for argument in fault.launcher]
    if launcher == list(fault.launcher):
        launcher = ["--master-addr", fault.master, "--master-port", str(port), *launcher]
    outputs: list[list[tuple[float, str]]] = [[], []]
    places = [folder.with_name(f"{folder.name}-n{node}") for node in (0, 1)]
    with contextlib.ExitStack() as stack:
        readers = []
        for node in fault.nodes:
            shutil.copytree(folder, places[node], symlinks=True)
            shutil.rmtree(places[node] / "checkpoints")
            (places[node] / "checkpoints").symlink_to(folder / "checkpoints")  # Both nodes see one filesystem.
            command = [*_torchrun(python), "--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", str(fault.world_size // 2)]
            environment = {name: value.replace("{node}", str(node)) for name, value in _environment(fault, python).items()}
            process = stack.enter_context(_started([*command, *launcher, fault.script, *fault.arguments], places[node], environment))
            reader = threading.Thread(target=_collect, args=(process, outputs[node]))
            reader.start()
            readers.append(reader)
            if fault.cut_after_s is not None:
                cut = threading.Timer(fault.cut_after_s, process.send_signal, (fault.cut_signal,))
                cut.start()
                stack.callback(cut.cancel)
            if fault.kill_node_at and fault.kill_node_at[0] == node:
                timer = threading.Timer(fault.kill_node_at[1], _kill_job, (process.pid, places[node]))
                timer.start()
                stack.callback(timer.cancel)
        for reader in readers:
            reader.join(LIMIT_S)
    return [
        [(at, neutralise(line, job=places[node], python=python, host=f"node0{node + 1}")) for at, line in lines]
        for node, lines in enumerate(outputs)
    ]


def _collect(process: subprocess.Popen[bytes], into: list[tuple[float, str]]) -> None:
    assert process.stdout
    for line in process.stdout:
        into.append((time.monotonic(), line.decode("utf-8", "replace")))


def two_nodes(fault: Fault, folder: Path, python: Path) -> Recording:
    """Two agents on this machine act as node01 and node02; one file a node."""
    outputs = _two_agents(fault, folder, python)
    return Recording({f"logs/node0{node + 1}.log": "".join(line for _, line in lines) for node, lines in enumerate(outputs) if lines})


def two_nodes_labelled(fault: Fault, folder: Path, python: Path) -> Recording:
    """Two agents, their lines in order of arrival in one file behind `node01: ` or `node02: `, as pdsh writes them."""
    outputs = _two_agents(fault, folder, python)
    lines = sorted((at, f"node0{node + 1}: {line}") for node, lines in enumerate(outputs) for at, line in lines)
    return Recording({"log.txt": "".join(line for _, line in lines)})


def labelled_tasks(fault: Fault, folder: Path, python: Path) -> Recording:
    """Ranks started without an agent, one process a task, their lines as they come behind `<task>: `, as `srun --label` does."""
    port = str(free_port())
    outputs: list[list[tuple[float, str]]] = [[] for _ in range(fault.world_size)]
    with contextlib.ExitStack() as stack:
        readers = []
        for rank in sorted(set(range(fault.world_size)) - set(fault.absent_ranks)):
            environment = _environment(fault, python) | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(fault.world_size)}
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            process = stack.enter_context(_started([str(python), fault.script, *fault.arguments], folder, environment))
            reader = threading.Thread(target=_collect, args=(process, outputs[rank]))
            reader.start()
            readers.append(reader)
        for reader in readers:
            reader.join(fault.cut_after_s or LIMIT_S)
    width = len(str(fault.world_size - 1))
    lines = sorted((at, f"{rank:>{width}}: {line}") for rank, lines in enumerate(outputs) for at, line in lines)
    return Recording({"log.txt": neutralise("".join(line for _, line in lines), job=folder, python=python, host="node01")})


def alone(fault: Fault, folder: Path, python: Path) -> Recording:
    """The script without a launcher: it starts its ranks itself."""
    with _rendezvous_port(fault) as port:
        environment = _environment(fault, python) | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        with _started([str(python), fault.script, *fault.arguments], folder, environment) as process:
            return Recording({"log.txt": neutralise(_communicate(process, fault), job=folder, python=python, host="node01")})


def flight(fault: Fault, folder: Path, python: Path) -> Recording:
    """One agent; what is kept is the flight recorder of each rank that still could write it."""
    _one_agent(fault, folder, python)
    dumps = sorted((folder / "flight").iterdir())
    return Recording({path.name: neutralise_dump(path.read_bytes(), job=folder, python=python, host="node01") for path in dumps})


LAYOUTS = {
    "flight": flight,
    "combined": combined,
    "tee": tee,
    "per-rank": per_rank,
    "two-nodes": two_nodes,
    "two-nodes-labelled": two_nodes_labelled,
    "labelled-tasks": labelled_tasks,
    "alone": alone,
}
