"""Whose failure it was: from the chosen hypothesis and the facts to global ranks. Chooses no hypothesis."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model import Finding, Line, Role
from ..read.blocks import key_of
from .collectives import Collectives, suspect
from .facts import ANY_EXCEPTION, EITHER, EXIT, LOST_PEER, UNREACHABLE, WAITED, Facts
from .hypotheses import Hypothesis
from .launchers import Exit
from .pace import lagging_ranks
from .ranks import ranks_in
from .signs import absent_ranks, ranks_not_stopped, reporters

# NameErrorNameError: : name 'x' is not definedname 'x' is not defined
_GLUED_NAMES = re.compile(r"((?<!\w)[A-Z]\w{1,50}?(?:Error|Exception))\1+")
_DONE_OF_ALL = re.compile(r"\| +(\d[\d.]*\w?)/(\d[\d.]*\w?) \[")
_BETWEEN_WORDS = re.compile(r"[^\w'./-]+|(?:(?<=GPU )|(?<=cuda:))\d+")


def initiating_ranks(facts: Facts, root: Hypothesis, pool: list[Hypothesis], collectives: Collectives) -> tuple[int, ...] | None:
    """The global ranks that failed first; empty for every rank alike, `None` where the input cannot tell."""
    if root.kind != "finding":
        return root.named
    pointed = _pointed_at(facts, root)
    if pointed:
        return pointed
    if root.tells == EITHER or all(f.captures.get("reporter") for f in root.findings):
        # Whoever reports that others did not come is none of those it waited for.
        return None
    if root.tells in (WAITED, LOST_PEER):
        return _behind_the_victims(facts, root, pool, collectives)
    world = facts.ranks.world_size
    named = set(root.ranks)
    told = {r for f in root.findings if facts.says_whose(f) for r in facts.ranks_of(f) or ()}
    # Rank 0 often speaks for all; where it speaks and others alone have the failure, it is theirs.
    some = bool(root.ranks) and not root.nobody and 0 not in root.ranks and 0 in facts.speaking_ranks()
    if root.page.scope == "job" and root.tells != ANY_EXCEPTION and not told and not some and not _others_came_further(pool, root):
        # What ends a job from outside is about no rank, even where there is only one.
        return (0,) if world == 1 and root.page.layer != "host" else ()
    places = {f.line.file for f in root.findings}
    own = [e for e in facts.own_failures() if e.rank is not None and e.line.file in places]
    own = own or [e for e in facts.own_failures() if e.rank is not None]
    victims = {r for h in pool if h is not root and h.tells in (WAITED, LOST_PEER) for r in reporters(h)}
    failing = {e.rank for e in own if e.rank is not None} - (victims if root.nobody and not named else set())
    if not named and not failing and root.nobody and victims and (absent := absent_ranks(facts, pool, collectives, any_report=True)):
        # Whoever printed it is none of those that signed another failure.
        return absent[0]
    if named and root.nobody and len(root.nobody) > len(named) and root.role is Role.INITIATING:
        named |= failing
    if not named and root.page.scope == "host" and len(failing) == 1:
        # The launcher sees one end and stops the rest; others may have said before that they lost a process to the same.
        lost = {r for h in pool if h is not root and h.tells in (EXIT, ANY_EXCEPTION) for r in h.ranks}
        if failing < lost:
            return () if world is None or len(lost) >= world else tuple(sorted(lost))
    if not named and root.nobody:
        if len(failing) == 1 and ((copies := _copies(facts, root)) < 2 or copies == 2 and not _at_once(facts, root)):
            named = set(failing)
        elif _copies(facts, root) > 1 or len(failing) > 1:
            return _unsigned(facts, root, own, _others_came_further(pool, root))
    if not named and root.page.scope == "host" and root.tells != UNREACHABLE and _in_the_store_of_rank_0(facts, root):
        return (0,)
    if not named:
        return (0,) if world == 1 and not facts.ranks.of_a_kind and _speaks_alone(facts, root) else ranks_not_stopped(facts)
    if world is not None and len(named) >= world and len(named) > 1:
        return ()
    if len(named) == 1 and _repeated(facts, root.findings):
        # Ray showed one of those that printed it, and counted the others.
        return ()
    return _first_ones(root, named)


_ONE_OF_SEVERAL = re.compile(r"[1-9]\d*$")


def _speaks_alone(facts: Facts, root: Hypothesis) -> bool:
    """Whether the one process of a job printed the failure itself: no numbered engine or actor, each a world of one."""
    labels = [f.line.origin.label or "" for f in root.findings]
    return not any(_ONE_OF_SEVERAL.search(label) for label in labels) and facts.speaking_ranks() <= {0}


# What a worker calls to meet the others, and the files of the agents that open a store of their own.
_MEETING = ("_env_rendezvous_handler", "_tcp_rendezvous_handler", "_create_c10d_store")
_AGENTS = ("/torch/distributed/elastic/", "/torch/distributed/run.py", "/torch/distributed/launcher/")


def _in_the_store_of_rank_0(facts: Facts, root: Hypothesis) -> bool:
    """Whether workers raised it while they opened the store of torch.distributed: only rank 0 opens one, the others connect to it."""
    chains = [facts.structures[f.line.file].raised.get(key_of(f.line)) for f in root.nobody]
    frames = [r.frames for r in chains if r is not None]
    return bool(frames) and all(
        any(x.function in _MEETING for x in own) and not any(a in x.file.replace("\\", "/") for x in own for a in _AGENTS) for own in frames
    )


def _first_ones(root: Hypothesis, named: set[int]) -> tuple[int, ...]:
    """Of several ranks with one failure only the first, where clocks say that the others came clearly later."""
    times = {}
    for r in named:
        dated = [f.line.time_s for f in root.ranks.get(r, []) if f.line.time_s is not None]
        if not dated:
            return tuple(sorted(named))
        times[r] = min(dated)
    earliest = min(times.values())
    return tuple(sorted(r for r, t in times.items() if t - earliest <= 5.0))


def _behind_the_victims(facts: Facts, root: Hypothesis, pool: list[Hypothesis], collectives: Collectives) -> tuple[int, ...] | None:
    """Who is behind reports of victims: the absent few; nobody in particular where every rank reports; else unknown."""
    suspicion = suspect(collectives, facts.ranks)
    if suspicion is not None and suspicion.kind == "first":
        return ()
    absent = absent_ranks(facts, pool, collectives, any_report=root.tells == LOST_PEER)
    if absent:
        return absent[0]
    lagging = lagging_ranks(facts.progress)
    if lagging is not None:
        return lagging[0]
    # A process that even SIGTERM did not end was stopped or stood in the driver.
    stuck = {facts.ranks.by_pid[pid] for pid in facts.launchers.forced_pids if pid in facts.ranks.by_pid}
    if len(stuck) == 1 and not stuck & set(root.ranks):
        return tuple(stuck)
    if root.tells == WAITED and _rank_0_is_busy(facts, root):
        return (0,)
    listed = {r for f in facts.reading.findings() if f.captures.get("waiting") for r in ranks_in(f.captures["waiting"])}
    victims = set(root.ranks) | collectives.waiting_ranks() | listed
    # A list of all that wait counts them from 0 on.
    world = facts.ranks.world_size or (len(listed) if listed == set(range(len(listed))) and facts.ranks.seen <= listed else None)
    if world is not None and len(victims) >= world > 1:
        return ()
    return None


def _rank_0_is_busy(facts: Facts, root: Hypothesis) -> bool:
    """Whether others waited while a bar that nobody signs was still under way: what one rank does for all, rank 0 does.

    The bar stands where the first of them gave up; or before its traceback, where all say that they wait for rank 0.
    """
    if 0 in root.ranks:
        return False
    first = root.first()
    apart = LINES_BEHIND_A_BAR if {f.captures.get("peer") for f in root.findings} == {"0"} else 1
    bars = (s.line for s in facts.progress.steps if s.bar and s.step is None and s.rank is None and s.line.file == first.file)
    near = [x for x in bars if 0 <= first.number - x.number <= apart]
    return bool(near) and not _is_full(near[-1])


def _is_full(bar: Line) -> bool:
    """Whether a bar came to its end: 31/31 [00:12<00:00."""
    m = _DONE_OF_ALL.search(bar.text)
    return m is not None and m[1] == m[2]


# A traceback of a rank that gave up stands between the bar and its last line.
LINES_BEHIND_A_BAR = 60


def _pointed_at(facts: Facts, root: Hypothesis) -> tuple[int, ...]:
    """The ranks that the failure's own lines call absent, continuation lines included, or that are missing among its reporters."""
    out: set[int] = set()
    reporters: set[int] = set()
    size = counted = 0
    for f in facts.reading.findings():
        if f.failure != root.failure:
            continue
        c = f.captures
        if c.get("absent") or c.get("ready"):
            out.update(facts.ranks.of_finding(f) or ())
        if c.get("reporter", "").isdigit() and c.get("world", "").isdigit():
            reporters.add(int(c["reporter"]))
            size = max(size, int(c["world"]))
            came = c.get("count") or c.get("joined", "")
            counted = max(counted, int(came)) if came.isdigit() else counted
        if c.get("joined", "").isdigit() and c.get("world", "").isdigit():
            speaking = facts.speaking_ranks()
            if len(speaking) == int(c["joined"]) < int(c["world"]) and max(speaking) < int(c["world"]):
                out.update(set(range(int(c["world"]))) - speaking)
    if not out and reporters and counted == len(reporters) < size:
        out = set(range(size)) - reporters
    return tuple(sorted(out or _listed_below(facts, root))) or _odd_one_out(root)


def _listed_below(facts: Facts, root: Hypothesis) -> set[int]:
    """The ranks of a list that stands right below a line of the report that ends in a colon or says how many follow, one a line.

    Any page may know the lines of the list: they call their rank absent, or only a `member` of what the heading says.
    """
    out: set[int] = set()
    for heading in (f for f in facts.reading.findings() if f.failure == root.failure):
        most = int(heading.captures["count"]) if heading.captures.get("count", "").isdigit() else None
        if most is None and not heading.line.text.rstrip().endswith(":"):
            continue
        members = {
            f.line.number: f.captures.get("absent") or f.captures.get("member", "")
            for f in facts.reading.files[heading.line.file].findings
            if f.strength == "context" and (f.captures.get("absent") or f.captures.get("member")) and f.line.number > heading.line.number
        }
        number = heading.line.number + 1
        while number in members and (most is None or number - heading.line.number <= most):
            out.update(ranks_in(members[number]))
            number += 1
    return out


def _odd_one_out(root: Hypothesis) -> tuple[int, ...]:
    """Where several reports compare two ranks each (`first` and `second`), the one rank that every report names."""
    named = [(f.captures.get("first", ""), f.captures.get("second", "")) for f in root.findings]
    # What a message compares may be devices: only numbers are ranks.
    pairs = {(a, b) for a, b in named if a.isdigit() and b.isdigit()}
    if len(pairs) < 3:
        return ()
    common = set.intersection(*({a, b} for a, b in pairs))
    return tuple(int(r) for r in common) if len(common) == 1 else ()


def _unsigned(facts: Facts, root: Hypothesis, own: list[Exit], others_came_further: bool) -> tuple[int, ...] | None:
    """Who raised a failure that several processes printed without a rank: all alike, those the launcher saw fail, or unknown."""
    world = facts.ranks.world_size
    failing = {e.rank for e in own if e.rank is not None}
    copies = _copies(facts, root)
    if world is not None and (len(failing) >= world or copies >= world):
        return ()
    stopped = {e.rank for e in facts.launchers.exits if e.stopped and e.rank is not None}
    if len(failing) > 1 and copies <= len(failing) and stopped - failing:
        # Each of those that failed printed it once, and the launcher had to stop others.
        return tuple(sorted(failing))
    if len(failing) > 1 and copies <= len(failing) and any(e.root for e in own) and max(failing) >= len(failing):
        # The summary of one node: ranks that are numbered lower exist elsewhere, and nothing tells of them.
        return tuple(sorted(failing))
    if copies < 2:
        roots = {e.rank for e in own if e.root and e.rank is not None}
        if failing and len({(e.line.file, e.line.number) for e in own}) == 1:
            # One sentence of the launcher names them together.
            return tuple(sorted(failing))
        return tuple(sorted(roots)) if len(roots) == 1 else None
    if failing and others_came_further and world is None:
        return tuple(sorted(failing))
    if failing and world is not None and len(failing) < world and copies <= len(failing) + 1 and len(failing) * 2 <= world:
        return tuple(sorted(failing))
    return ()


def _copies(facts: Facts, root: Hypothesis) -> int:
    """How many processes printed the same failure without saying who they are: tracebacks of their own, not reports of reports."""
    heads: set[tuple[int, int]] = set()
    texts: dict[str, int] = {}
    streams: set[tuple[object, ...]] = set()
    for f in root.nobody:
        raised = facts.structures[f.line.file].raised.get(key_of(f.line))
        head = raised.first if raised else f.line
        o = f.line.origin
        streams.add((o.pid, o.label, o.device, o.host))
        if (f.line.file, head.number) not in heads and (raised is None or raised.position == 0):
            heads.add((f.line.file, head.number))
            # Carets and blanks of others that wrote at once stand between the words, and a device has another number.
            words = _BETWEEN_WORDS.sub("", f.line.text[f.start : f.start + 120])[:60]
            glued = _GLUED_NAMES.search(f.line.text[:400])
            texts[words] = texts.get(words, 0) + (len(glued[0]) // len(glued[1]) if glued else 1)
    alike = max([*texts.values(), *(_glued(facts, f) for f in root.nobody)], default=0)
    labelled = any(o[0] is not None or o[1] is not None for o in streams)
    return (min(alike, len(streams)) if labelled else alike) + _repeated(facts, root.nobody)


# … [repeated 7x across cluster]
_REPEATED = re.compile(r"\[repeated (\d{1,6})x across cluster\]")


def _repeated(facts: Facts, findings: Sequence[Finding]) -> int:
    """How many more processes printed the same words, as Ray counts lines that it does not show again."""
    times = 0
    for file in {f.line.file for f in findings}:
        counted = [(x, int(m[1])) for x in facts.reading.files[file].lines if (m := _REPEATED.search(x.text))]
        if counted:
            mine = [f for f in findings if f.line.file == file]
            first = min(f.line.number for f in mine)
            words = {f.line.text[f.start : f.end].split(" [repeated ")[0][:80] for f in mine}
            words = {w for w in words if len(w) >= _FEWEST_LETTERS}
            times += sum(n for x, n in counted if x.number >= first and any(w in x.text for w in words))
    return times


def _at_once(facts: Facts, root: Hypothesis) -> bool:
    """Whether a second traceback began before the first that ends in the failure had ended: then two processes wrote them."""
    return _begun(facts, min(root.nobody, key=lambda x: (x.line.file, x.line.number))) > 1


def _begun(facts: Facts, f: Finding) -> int:
    """How many tracebacks that nobody signs began before a finding, and behind the last one that had ended."""
    ended = max((n for n, _ in facts.structures[f.line.file].raised if n < f.line.number), default=0)
    lines = facts.reading.files[f.line.file].lines
    heads = (x for x in lines if ended < x.number < f.line.number and not x.origin)
    return sum("Traceback (most recent call last)" in x.text for x in heads)


_GLUED_LINES = 40
_FEWEST_LETTERS = 12


def _glued(facts: Facts, f: Finding) -> int:
    """How often an exception's words stand around a line that holds them more than once, or lost their colon: processes wrote at once."""
    text = f.line.text[f.start : f.end]
    _, colon, words = text.partition(": ")
    name, message = f.captures.get("exception", ""), f.captures.get("message", "")
    torn = bool(name and message) and name + message[:20] in text
    if torn:
        words = message.replace(name.rpartition(".")[2], "").rstrip(": ")
    words = words.strip()[:80]
    if len(words) < 20 or not (torn or colon and f.line.text.count(words) >= 2):
        return 0
    near = {x.number: x for x in facts.reading.files[f.line.file].lines if abs(x.number - f.line.number) <= _GLUED_LINES}
    told = sum(x.text.count(words) for x in near.values())
    return max(told, _begun(facts, f)) if torn else told


def _others_came_further(pool: list[Hypothesis], root: Hypothesis) -> bool:
    """Whether other ranks than those that failed lost or awaited them: then a failure that usually meets all met only some."""
    others = [h for h in pool if h.tells in (WAITED, LOST_PEER)]
    victims = {r for h in others for r in h.ranks}
    mine = {f.line.file for f in root.findings}
    elsewhere = {f.line.file for h in others for f in h.findings} - mine
    hosts = {f.line.origin.host for f in root.findings}
    apart = None not in hosts and any(f.line.origin.host not in {*hosts, None} for h in others for f in h.findings)
    return (bool(root.ranks) and bool(victims - set(root.ranks))) or bool(elsewhere) or apart
