"""`npm run bench`: measures FirstFault beside ripgrep on the same generated logs, in one go, and prints ratios.

Nothing here is a test: a shared or noisy machine changes the figures. Runs of the programs that are compared take turns,
so that a busy moment meets all of them; medians are printed, processor time beside the time on the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER = HERE.parents[1] / "server"
sys.path[:0] = [str(HERE), str(SERVER)]

import synthetic_logs  # noqa: E402

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a program cost. Times in seconds, memory in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int


def run(command: Sequence[str | os.PathLike[str]], stdin: Sequence[str] | None = None) -> Run:
    """Run a program; `stdin` is a command whose output it reads.

    The output goes to a file that nobody looks at: grep stops at the first match when it sees /dev/null.
    """
    feeder = subprocess.Popen(stdin, stdout=subprocess.PIPE) if stdin else None
    began = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        program = subprocess.Popen(
            [os.fspath(part) for part in command],
            cwd=SERVER, stdin=feeder.stdout if feeder else subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL,
            env={**os.environ, "FIRSTFAULT_BENCH_PEAK": str(_PEAK)},
        )  # fmt: skip
        if feeder and feeder.stdout:
            feeder.stdout.close()
        _, status, usage = os.wait4(program.pid, 0)
    wall_s = time.perf_counter() - began
    program.returncode = os.waitstatus_to_exitcode(status)
    if feeder:
        feeder.wait()
    peak_mb = usage.ru_maxrss / 1024
    if _PEAK.exists():
        peak_mb = float(_PEAK.read_text())
        _PEAK.unlink()
    return Run(wall_s, usage.ru_utime + usage.ru_stime, peak_mb, program.returncode)


def take_turns(rounds: int, programs: dict[str, Callable[[], Run]]) -> dict[str, Run]:
    """The medians of runs that take turns; one run of each goes before and does not count."""
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for turn in range(rounds + 1):
        for name, start in programs.items():
            done = start()
            if turn:
                runs[name].append(done)
    return {
        name: Run(
            statistics.median(r.wall_s for r in done), statistics.median(r.cpu_s for r in done),
            max(r.peak_mb for r in done), done[-1].status,
        )
        for name, done in runs.items()
    }  # fmt: skip


# Says its own peak: what the system tells of a child includes the process it was forked from.
_PROGRAM = """
import os, sys
from firstfault.cli import main
status = main(sys.argv[1:])
try:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    open(os.environ["FIRSTFAULT_BENCH_PEAK"], "w").write(str(int(peak.split()[1]) / 1024))
except OSError:
    pass
sys.exit(status)
"""
_PEAK = Path(tempfile.gettempdir()) / f"firstfault-bench-peak-{os.getpid()}"


def firstfault(*arguments: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """The command line of the checkout."""
    return [sys.executable, "-c", _PROGRAM, "diagnose", "--format", "json", *arguments]


def table(title: str, rows: Sequence[Sequence[object]]) -> None:
    """Print a table whose first row is its heading."""
    print(f"\n{title}")
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    for row in texts:
        print("  " + "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))))
    sys.stdout.flush()


def needle_file(folder: Path) -> Path:
    """A file of all needles, as ripgrep and grep take it."""
    from firstfault.knowledge.library import load_library
    from firstfault.observe import scanner_for

    path = folder / "needles.txt"
    path.write_text("".join(f"{n}\n" for n in scanner_for(load_library()).needles), encoding="utf-8")
    return path


def bench_one_log(log: Path, folder: Path, rounds: int) -> None:
    """One large log, one processor: the whole way to a verdict beside a search for the same needles."""
    needles = needle_file(folder)
    programs = {"firstfault diagnose": lambda: run(firstfault(log, "--workers", "1"))}
    for name, command in (("ripgrep -c -F -f", ["rg", "-j1", "-c", "-F", "-f", needles, log]), ("grep -c -F -f", ["grep", "-c", "-F", "-f", needles, log])):
        if shutil.which(str(command[0])):
            programs[name] = lambda command=command: run(command)
    if "ripgrep -c -F -f" not in programs:
        print("ripgrep is not installed: nothing to compare with (apt-get install ripgrep)", file=sys.stderr)
    done = take_turns(rounds, programs)
    size = log.stat().st_size
    peer = done.get("ripgrep -c -F -f")
    rows: list[Sequence[object]] = [("program", "MB/s of processor", "processor s", "clock s", "peak MB", "ratio to ripgrep")]
    for name, r in done.items():
        ratio = f"{r.cpu_s / peer.cpu_s:.2f}" if peer else ""
        rows.append((name, f"{size / r.cpu_s / 1e6:.0f}", f"{r.cpu_s:.2f}", f"{r.wall_s:.2f}", f"{r.peak_mb:.0f}", ratio))
    count = sum(1 for line in needles.read_text(encoding="utf-8").split("\n") if line)
    table(f"one log of {size / 1e6:.0f} MB, {count} needles, one processor, medians of {rounds} (ratio below 1: less time than ripgrep)", rows)


def bench_memory(log: Path, times: int) -> None:
    """The same log several times behind one another through a pipe: memory must not depend on the size."""
    rows: list[Sequence[object]] = [("input", "peak MB", "processor s")]
    for n in (1, times):
        r = run(firstfault("-"), stdin=["cat", *[str(log)] * n])
        rows.append((f"{n * log.stat().st_size / 1e9:.1f} GB through a pipe", f"{r.peak_mb:.0f}", f"{r.cpu_s:.2f}"))
    table("memory", rows)


def bench_start(folder: Path, rounds: int) -> None:
    """A log of 1 MB: from the start of the process to the verdict, and warm."""
    from firstfault.diagnose import diagnose
    from firstfault.knowledge.library import load_library

    log = folder / "small.log"
    synthetic_logs.write_combined(log, MB - 200_000)
    cold = take_turns(max(rounds, 7), {"cold": lambda: run(firstfault(log)), "python": lambda: run([sys.executable, "-c", "pass"])})
    library = load_library()
    times = []
    for _ in range(15):
        began = time.process_time()
        diagnose([log], library=library)
        times.append(time.process_time() - began)
    rows: list[Sequence[object]] = [("from start to verdict", "clock ms", "processor ms")]
    for name, key in (("firstfault diagnose", "cold"), ("an empty Python program", "python")):
        rows.append((name, f"{cold[key].wall_s * 1e3:.0f}", f"{cold[key].cpu_s * 1e3:.0f}"))
    rows.append(("diagnosis in a running process", "", f"{statistics.median(times) * 1e3:.0f}"))
    table(f"a log of {log.stat().st_size / 1e6:.1f} MB of 64 ranks, all of which fail", rows)


def bench_follow(log: Path, folder: Path) -> None:
    """What 1 MB more costs a follower of a large log, beside a log that has only this 1 MB."""
    from firstfault.follow import Follower
    from firstfault.knowledge.library import load_library

    library = load_library()
    addition = folder / "small.log"
    if not addition.exists():
        synthetic_logs.write_combined(addition, MB - 200_000)
    data = addition.read_bytes()

    def cost(prepare: int) -> float:
        path = folder / "followed.log"
        with open(log, "rb") as source, open(path, "wb") as out:
            left = prepare
            while left > 0 and (piece := source.read(min(left, 16 * MB))):
                out.write(piece[: piece.rfind(b"\n") + 1])
                left -= len(piece)
        follower = Follower([path], library=library)
        follower.poll()
        with open(path, "ab") as out:
            out.write(data)
        began = time.process_time()
        follower.poll()
        spent = time.process_time() - began
        path.unlink()
        return spent

    whole = log.stat().st_size
    alone = statistics.median(cost(0) for _ in range(5))
    after = statistics.median(cost(whole) for _ in range(3))
    rows = [
        ("followed", "processor ms", "ratio"),
        (f"{len(data) / 1e6:.1f} MB alone", f"{alone * 1e3:.0f}", "1.00"),
        (f"{len(data) / 1e6:.1f} MB behind {whole / 1e6:.0f} MB", f"{after * 1e3:.0f}", f"{after / alone:.2f}"),
    ]
    table("following", rows)


def bench_editor(folder: Path, megabytes: int = 20) -> None:
    """What a person at an editor waits for: the problems of a log that was just opened, then hovers all over it."""
    sys.path.insert(0, str(HERE.parent / "lsp"))
    from editor import Editor, full_params

    log = folder / f"opened-{megabytes}.log"
    if not log.exists():
        synthetic_logs.write_combined(log, megabytes * MB)
    text = log.read_text(encoding="utf-8", errors="replace")
    uri = log.as_uri()

    async def measure() -> tuple[float, list[float]]:
        client = Editor()
        await client.start_io(sys.executable, "-I", "-X", "utf8", str(SERVER / "main.py"))
        await client.initialize_session(full_params([folder]))
        await client.ask("firstfault/diagnose", {"text": ""})
        began = time.perf_counter()
        client.open(text, uri)
        problems = (await client.pull(uri)).items
        opened_s = time.perf_counter() - began
        rows = text.count("\n")
        hovers = []
        for row in [*(p.range.start.line for p in problems), *range(0, rows, rows // 400)]:
            began = time.perf_counter()
            await client.hover_text(uri, row, 3)
            hovers.append(time.perf_counter() - began)
        await client.shutdown_session()
        return opened_s, sorted(hovers)

    opened_s, hovers = asyncio.run(measure())
    rows: list[Sequence[object]] = [("asked of the language server", "clock ms")]
    rows.append((f"problems of a log of {log.stat().st_size / 1e6:.0f} MB from its opening", f"{opened_s * 1e3:.0f}"))
    rows.append((f"a hover, median of {len(hovers)}", f"{statistics.median(hovers) * 1e3:.1f}"))
    rows.append(("a hover, 99th percentile", f"{hovers[int(len(hovers) * 0.99)] * 1e3:.1f}"))
    table("in an editor", rows)


def bench_rank_files(folder: Path, files: int, size: int, rounds: int) -> None:
    """One file a rank, read by one process and by several."""
    ranks = folder / f"ranks-{files}-{size}"
    if not ranks.exists():
        print(f"writing {files} files of {size / 1e6:.1f} MB")
        synthetic_logs.write_rank_files(ranks, files, size)
    total = sum(p.stat().st_size for p in ranks.iterdir())
    several = sorted({2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2})
    programs = {str(n): (lambda n=n: run(firstfault(ranks, "--workers", str(n)))) for n in (1, *several)}
    done = take_turns(rounds, programs)
    rows: list[Sequence[object]] = [("processes", "clock s", "MB/s", "times one process", "peak MB of the largest process")]
    for name, r in done.items():
        speed = done["1"].wall_s / r.wall_s
        rows.append((name, f"{r.wall_s:.2f}", f"{total / r.wall_s / 1e6:.0f}", f"{speed:.2f}", f"{r.peak_mb:.0f}"))
    table(f"{files} files of {size / 1e6:.1f} MB, medians of {rounds}", rows)


def bench_fallback(log: Path) -> None:
    """The slower scanner, where hyperscan has no binary."""
    from firstfault.knowledge.library import load_library
    from firstfault.observe import scanner_for
    from firstfault.read.reader import LineReader
    from firstfault.read.scan import Scanner

    fast = scanner_for(load_library())
    needles = dict(zip(fast.needles, fast.after, strict=True))
    with open(log, "rb") as file:
        data = file.read(32 * MB)
    rows: list[Sequence[object]] = [("scanner", "MB/s of processor")]
    for name, scanner in (("hyperscan" if fast.fast else "(no hyperscan here)", fast), ("without hyperscan", Scanner(needles, use_hyperscan=False))):
        began = time.process_time()
        reader = LineReader(scanner, "x")
        reader.feed(data)
        reader.finish()
        rows.append((name, f"{len(data) / (time.process_time() - began) / 1e6:.0f}"))
    table("reading alone", rows)


def memory_mb() -> int:
    """The memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB
    except (ValueError, OSError, AttributeError):
        return 0


PARTS = ("log", "memory", "start", "follow", "editor", "files", "fallback")


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="npm run bench --", description=__doc__)
    parser.add_argument("--size", type=int, default=1024, metavar="MB", help="size of the combined log (default 1024)")
    parser.add_argument("--files", type=int, default=128, help="how many rank files (default 128)")
    parser.add_argument("--file-size", type=float, default=10, metavar="MB", help="size of each rank file (default 10)")
    parser.add_argument("--times", type=int, default=8, help="how often the log goes through the pipe that tests memory (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs (default 3)")
    parser.add_argument("--only", choices=PARTS, action="append", help="only these parts")
    parser.add_argument("--folder", type=Path, help="where the logs are written and kept; else a folder that is removed at the end")
    args = parser.parse_args()
    parts = args.only or PARTS
    folder = args.folder or Path(tempfile.mkdtemp(prefix="firstfault-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        print(f"{os.cpu_count()} processors, {memory_mb() / 1024:.0f} GB of memory, Python {platform.python_version()}")
        log = folder / f"combined-{args.size}.log"
        if not log.exists() and set(parts) & {"log", "memory", "follow", "fallback"}:
            print(f"writing a log of {args.size} MB")
            synthetic_logs.write_combined(log, args.size * MB)
        if "log" in parts:
            bench_one_log(log, folder, args.rounds)
        if "memory" in parts:
            bench_memory(log, args.times)
        if "start" in parts:
            bench_start(folder, args.rounds)
        if "follow" in parts:
            bench_follow(log, folder)
        if "editor" in parts:
            bench_editor(folder)
        if "files" in parts:
            bench_rank_files(folder, args.files, int(args.file_size * MB), args.rounds)
        if "fallback" in parts:
            bench_fallback(log)
    finally:
        if args.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
