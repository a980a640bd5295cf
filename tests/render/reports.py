"""Reports made by hand: a hang of many ranks, and one whose every text tries to break out of HTML."""

import dataclasses

from firstfault import model as m

HOSTILE = (
    "</script></style></title><img src=x onerror=alert(1)><svg/onload=alert(2)> \" ' & &lt; {{7*7}} `x` "
    "[a](javascript:alert(3)) \u2028 \x00 \x1b[31m --> ]]> <!--"
)


def clock(ms):
    """A stamp `ms` milliseconds after ten o'clock."""
    seconds = 36_000 + ms // 1000
    return f"2026-12-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms % 1000:03d}"


def large_report(ranks=1024, stuck=517):
    """Rank `stuck` never joins an all-reduce; ten minutes later all the others give up, and the ranks of one host die of it otherwise."""

    def host(r):
        return f"node{r // 8:03d}"

    def entry(r, ms, line, kind, failure, says):
        return m.TimelineEntry(f"logs/rank_{r}.log", line, r, host(r), clock(ms), kind, failure, says)

    timeline, collateral = [], []
    others = [r for r in range(ranks) if r != stuck]
    for r in range(ranks):
        timeline.append(entry(r, r * 7919 % 180, 400, "progress", None, "step 1200"))
    for r in others:
        ms = 600_000 + r * 6101 % 2300
        failure, says = "collective-timeout", "A collective or a store wait ran into its timeout"
        if r // 8 == 9:
            failure, says = "gloo-connection-closed", "A Gloo peer closed or reset the connection"
        timeline.append(entry(r, ms, 431, "collateral", failure, says))
        timeline.append(entry(r, ms + 900 + r % 50, 460, "exit", None, "exit code -6"))
        collateral.append(m.Collateral(failure, (r,), f"logs/rank_{r}.log", 431, f"waited for rank {stuck} in ALLREDUCE 88121"))
    timeline.append(entry(stuck, 604_000, 405, "exit", None, "exit code -15"))
    timeline.append(m.TimelineEntry("logs/launcher.log", 12, None, None, clock(604_100), "context", None, "the job step was ended"))
    timeline.sort(key=lambda t: (t.time, t.file))
    victim = others[0]
    timeout = f"[rank{victim}]:[E1201 ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88121)"
    incident = m.Incident(
        id=1,
        failure="rank-missing-collective",
        title="A rank is stuck: it never joined the collective",
        severity="error",
        verdict=m.Verdict.PROBABLE,
        summary=f"Rank {stuck} on {host(stuck)} did not enter ALLREDUCE 88121 that {len(others):,} ranks waited in for ten minutes.",
        initiating=m.Initiating((stuck,), (host(stuck),), ("0000:9b:00.0",), clock(177)),
        evidence=(
            m.Evidence(f"logs/rank_{victim}.log", 431, timeout.index("Watchdog") + 1, len(timeout) + 1, timeout, "initiating", "gave up"),
            m.Evidence(f"logs/rank_{stuck}.log", 400, 1, 28, f"[rank{stuck}]: step 1200 loss 2.113", "corroborating", "its last sign"),
        ),
        reasons=(f"rank {stuck} reports no timeout although every other rank does",),
        collateral=tuple(collateral),
        fix=(
            m.Fix(
                "Record what the silent rank does with NCCL_DEBUG=INFO",
                "Set it in the launch script and run again.",
                "torchrun --nproc-per-node 8 train.py",
                m.Setting("env", "NCCL_DEBUG", "INFO", "maps every rank to its host"),
            ),
        ),
        verify=(m.Check("All ranks pass the step", "torchrun --nproc-per-node 8 train.py | firstfault diagnose -", "No failure found"),),
        missing=(m.MissingFact(f"What rank {stuck} was doing", "py-spy dump --pid PID", ("rank-straggler", "uneven-inputs")),),
        alternatives=(m.Alternative("rank-straggler", "the rank may be alive and only much slower"),),
        related=("rank-straggler", "silent-hang"),
    )
    inputs = tuple(m.InputSummary(f"logs/rank_{r}.log", "log", 9_800_000 + r, 61_000, (r,), (host(r),)) for r in range(ranks))
    progress = m.Progress(1200, clock(177), "logs/rank_0.log", 400)
    job = m.Job(ranks, "slurm", ("pytorch", "megatron-lm"), "failed", progress)
    return m.Report(inputs, job, (incident,), timeline=tuple(timeline))


def hostile_report(text=HOSTILE):
    """Every text that can come from a log, from a file name or from a user's page is `text`."""
    evidence = (m.Evidence(text, 1, 5, 20, text, "initiating", text), m.Evidence(text, 2, 1, 9999, text, "context", text))
    settings = (m.Setting("env", text, text, text), m.Setting("timeout", "collective_timeout", text), m.Setting("flag", text, text))
    incident = m.Incident(
        id=1,
        failure=text,
        title=text,
        severity="error",
        verdict=m.Verdict.UNDETERMINED,
        summary=text,
        initiating=m.Initiating((3,), (text,), (text,), text),
        evidence=evidence,
        reasons=(text,),
        collateral=(m.Collateral(text, (1, 2), text, 3, text), m.Collateral("python-exception", None, text, 4, text)),
        fix=tuple(m.Fix(text, text, text, s) for s in settings),
        verify=(m.Check(text, text, text),),
        missing=(m.MissingFact(text, text, (text, "disk-full")),),
        alternatives=(m.Alternative(text, text),),
        related=(text,),
    )
    known = dataclasses.replace(incident, id=2, failure="cuda-out-of-memory", verdict=m.Verdict.ESTABLISHED, severity="warning")
    kinds = ("initiating", "collateral", "exit", "start", "progress", text)
    timeline = tuple(m.TimelineEntry(text, n, n % 4, text, None, kind, text, text) for n, kind in enumerate(kinds))
    timeline += (m.TimelineEntry(text, 7, None, text, text, text, None, text),)
    timeline += (m.TimelineEntry(text, 8, None, None, clock(5), "progress", None, text),)
    inputs = (m.InputSummary(text, text, 9, 9, (0, 1), (text,)),)
    job = m.Job(4, text, (text,), text, m.Progress(3, text, text, 9))
    return m.Report(inputs, job, (incident, known), (m.Unexplained(text, 5, text),), (text,), timeline)
