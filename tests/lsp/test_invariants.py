"""What must hold: the protocol stays in one package, files stay small, the server starts quickly and keeps its streams clean."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from editor import FAKE_SERVER, REAL_SERVER

SERVER = Path(__file__).parents[2] / "server"
PACKAGE = SERVER / "firstfault"
PROTOCOL_LIBRARIES = {"pygls", "lsprotocol", "cattrs"}


def imports_of(path: Path) -> Iterator[str]:
    """The top-level names of the absolute imports of a file, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


def sources() -> list[Path]:
    return sorted(p for p in SERVER.rglob("*.py") if "bundled" not in p.parts and "build" not in p.parts)


def test_only_the_protocol_package_imports_the_protocol_libraries() -> None:
    offenders = [
        str(path.relative_to(SERVER))
        for path in sources()
        if PACKAGE / "lsp" not in path.parents and PROTOCOL_LIBRARIES & set(imports_of(path))
    ]
    assert not offenders


def test_the_protocol_package_does_import_them() -> None:
    """So that the test above cannot pass by looking at nothing."""
    assert any("pygls" in imports_of(path) for path in (PACKAGE / "lsp").glob("*.py"))


def test_nothing_outside_imports_the_protocol_package_but_the_entry_point() -> None:
    offenders = []
    for path in sources():
        if PACKAGE / "lsp" in path.parents or path == SERVER / "main.py":
            continue
        text = path.read_text(encoding="utf-8")
        if "firstfault.lsp" in text or "from .lsp" in text or "from ..lsp" in text:
            offenders.append(str(path.relative_to(SERVER)))
    assert not offenders


def test_every_file_of_the_protocol_package_stays_under_400_lines() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (PACKAGE / "lsp").glob("*.py")}
    assert not {name: length for name, length in lengths.items() if length > 400}


def frame(message: dict[str, object]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


INITIALIZE = frame({"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}})


@pytest.mark.parametrize("command", [FAKE_SERVER, REAL_SERVER], ids=["stand-in", "main.py"])
def test_standard_output_carries_frames_only_and_shutdown_exits_with_0(command: list[str]) -> None:
    """A print from anywhere would break the protocol; the stand-in prints on purpose when it is asked to."""
    conversation = [
        INITIALIZE,
        frame({"method": "initialized", "params": {}}),
        frame({"id": 2, "method": "firstfault/diagnose", "params": {"text": "PRINT\n"}}),
        frame({"id": 3, "method": "shutdown"}),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin and server.stdout and server.stderr
        server.stdin.write(b"".join(conversation[:3]))
        server.stdin.flush()
        answers = [read_frame(server.stdout), read_frame(server.stdout)]
        server.stdin.write(conversation[3] + frame({"method": "exit"}))
        server.stdin.flush()
        answers.append(read_frame(server.stdout))
        assert server.stdout.read() == b""
        assert server.wait(30) == 0, server.stderr.read().decode()
    assert [a["id"] for a in answers] == [1, 2, 3]


def test_a_request_before_initialize_is_refused() -> None:
    hover = frame(
        {"id": 7, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}}
    )
    with subprocess.Popen(FAKE_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin and server.stdout
        server.stdin.write(hover + INITIALIZE)
        server.stdin.flush()
        refused, answer = read_frame(server.stdout), read_frame(server.stdout)
        server.stdin.close()
    assert (refused["id"], refused["error"]["code"]) == (7, -32002)  # type: ignore[index]
    assert answer["id"] == 1


def test_the_end_of_standard_input_ends_the_server() -> None:
    done = subprocess.run(FAKE_SERVER, input=INITIALIZE, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("polite", [True, False], ids=["shutdown", "end of input"])
def test_a_long_read_does_not_outlive_the_client(tmp_path: Path, polite: bool) -> None:
    path = tmp_path / "endless.log"
    path.write_text("WAIT_UNTIL_CANCELLED\n")
    with subprocess.Popen(FAKE_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin and server.stdout and server.stderr
        diagnose = frame({"id": 2, "method": "firstfault/diagnose", "params": {"path": str(path), "workDoneToken": "t"}})
        server.stdin.write(INITIALIZE + frame({"method": "initialized", "params": {}}) + diagnose)
        server.stdin.flush()
        read_frame(server.stdout)
        assert read_frame(server.stdout)["method"] == "$/progress"
        if polite:
            server.stdin.write(frame({"id": 3, "method": "shutdown"}) + frame({"method": "exit"}))
            server.stdin.flush()
        server.stdin.close()
        server.stdout.read()
        assert server.wait(30) == 0, server.stderr.read().decode()


def test_initialize_is_answered_without_loading_the_engine() -> None:
    """The engine is loaded after the answer; the figure is the goal of the design with room for a busy machine."""
    started = time.perf_counter()
    with subprocess.Popen(REAL_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        server.stdin.write(INITIALIZE)
        server.stdin.flush()
        answer = read_frame(server.stdout)
        taken = time.perf_counter() - started
        server.stdin.close()
    assert answer["result"]["serverInfo"]["name"] == "firstfault"
    assert taken < 10
    probe = (
        "import sys, firstfault.lsp.server; print([m for m in ('firstfault.diagnose', 'hyperscan', 'regex', 'rich') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", probe], env={"PYTHONPATH": str(SERVER)}, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def read_frame(stream: object) -> dict[str, object]:
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):  # type: ignore[attr-defined]
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(stream.read(length))  # type: ignore[attr-defined,no-any-return]
