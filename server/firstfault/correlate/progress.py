"""Signs of progress: which rank was at which step when, step times, ends and recoveries. Draws no conclusion from the pace.

Knows the progress lines of the training frameworks. Works on the sampled lines, so it is cheap on any size.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model import Line
from ..read.quick import quick
from .ranks import Ranks
from .reading import Reading

# One expression a style; the groups are step, total and seconds or milliseconds a step.
_STYLES = tuple(
    quick(p)
    for p in (
        r"\bcompleted step: (?P<step>\d+), seconds: (?P<s>[\d.]+)",
        r"\biteration +(?P<step>\d+)/ *(?P<total>\d+) \|.*?elapsed time per iteration \((?P<u>ms|s)\): (?P<t>[\d.]+)",
        r"\[Rank \d+\] step=(?P<step>\d+)",
        r"\bglobal_step[:=] ?(?P<step>\d+)\b",
        # {'loss': '0.512', …, 'global_step/max_steps': '5/300'}
        r"'global_step/max_steps': '(?P<step>\d+)/(?P<total>\d+)'",
        # [epoch=1][batch=12/4800]:
        r"\[batch=(?P<step>\d+)(?:/(?P<total>\d+))?\]:",
        # ========================= Step 12/100 =========================
        r"={5,} Step (?P<step>\d+)/(?P<total>\d+) ={5,}",
        # Step 12 | Time: 5.21s | Reward: 0.4100
        r"\bStep (?P<step>\d+) \| Time: (?P<s>[\d.]+)s\b",
        # perf 3: {'perf/step_time': 125.0, …
        r"\bperf (?P<step>\d+): \{'perf/",
        r"\bsteps?[:= ]{1,8}(?P<step>\d+)(?:/(?P<total>\d+))?\b(?:.*?\b(?:step_avg|dt)[:=](?P<t>[\d.]+)(?P<u>ms|s))?",
        r"\beta: .*?\biter: (?P<step>\d+).*?\btime: (?P<s>[\d.]+)",
        # Epoch [1][50/962] · Iter [900/20000] · Epoch(train)  [1][ 500/2931] · Iter(train) [  50/80000]
        r"\b(?:Epoch|Iter)(?:\(train\))? {0,4}(?:\[\d+\] ?)?\[ *(?P<step>\d+)/ *(?P<total>\d+)\].*?\btime: (?P<s>[\d.]+)",
        # Epoch: [0]  [3260/4572] … time: 0.11 · Train: data epoch: [1]  [ 285/3000] … time: 0.49
        r"(?:\bEpoch|Train: data epoch): \[\d+\] {1,2}\[ *(?P<step>\d+)/(?P<total>\d+)\].*?\btime: (?P<s>[\d.]+)",
        # Epoch: [0][  10/5005]	Time  0.512 ( 1.4) · Train: [0/300][10/1251]	eta … time 0.61 (1.02)
        r"\b(?:Epoch|Train):? \[\d+(?:/\d+)?\]\[ *(?P<step>\d+)/ *(?P<total>\d+)\]\s.*?\b[Tt]ime:?\s{1,3}(?P<s>[\d.]+)",
        r"Train: \d+ \[ *(?P<step>\d+)/(?P<total>\d+)",
        # Train Epoch: 1 [640/60000 (1%)]	Loss: 2.11
        r"Train Epoch: \d+ \[ *(?P<step>\d+)/(?P<total>\d+) \(",
        # epoch 001:    100 / 1234 loss=9.1, … ups=4.3, … num_updates=100
        r"\bepoch \d+.*?\bnum_updates=(?P<step>\d+)",
        # Epoch: 0, Step: 10, Rank: 0, loss = 1.21 · a heading such as `Step 2: install` has no loss
        r"\bStep:? {0,8}(?P<step>\d+)(?:/(?P<total>\d+))?\b(?=.{0,200}?[Ll]oss\b)",
        # Epoch 3/9 ━━━━╺━━ 2314/3351 0:24:57
        r"\bEpoch \d+/\d+ +[━╺╸ ]{1,200}(?P<step>\d+)/(?P<total>\d+) ",
        r"\bIter: (?P<step>\d+) Time\((?P<n>\d+) iters\): (?P<s>[\d.]+)s",
        r"\biter(?:ation)?[ :=]{1,3}(?P<step>\d+)\b",
        r"Epoch:? +\d+ \[ *(?P<step>\d+)/(?P<total>\d+)(?: \( *\d+%\))?\]",
        r"Batch \[(?P<first>\d+)-(?P<step>\d+)\]\s+Speed:",
        r"\| +(?P<step>\d+)/(?P<total>\d+) \[\d[\d:]*<[\d:?]+, +(?:(?P<s>[\d.]+)s/[a-z]{1,8}\b|(?P<rate>[\d.]+) ?\w+/s)",
        r"^(?P<step>\d+)\s+images/sec: [\d.]+ \+/- ",
        r"^(?P<step>\d+)/(?P<total>\d+) (?:\[=*>?\.*\] )?- (?:ETA: )?[\d:]+m?s",
        # epoch 002: 4510 / 21194 loss=3.1, num_updates=25700 · {"epoch": 1, "loss": "12.2", "num_updates": "20"}
        r"\bnum_updates\b['\"]?[:= ]{1,3}['\"]?(?P<step>\d+)",
        # TRAIN Batch 0/2600 loss 3.66 … : the epoch and the batch
        r"\bTRAIN Batch \d+/(?P<step>\d+) loss\b",
        # tick 3     kimg 12.0     time 21m 07s      sec/tick 230.4   sec/kimg 57.50
        r"^tick (?P<step>\d+) +kimg [\d.]+ +time .{1,20}? sec/tick ",
        # Iter #3: 120.4 img/sec per GPU
        r"\bIter #(?P<step>\d+): [\d.]+ img/sec",
    )
)
_LOSS = quick(r"(?i)loss[\w/]*['\"]?[ :=]|\btps\b|tokens/s|throughput|(?:images|img)/sec|\btime: |num_updates|sec/tick")
# What heads or counts the steps of training, and is no bar although it has no loss.
_NO_BAR = quick(r"iteration|completed step|\bstep|\[batch=\d+(?:/\d+)?\]:|={5,} Step \d|\bStep \d+ \| Time: |\bperf \d+: \{'perf/")
# {'loss': 1.72, 'grad_norm': 0.4, 'learning_rate': 2e-05, 'epoch': 0.12}
_LOGGED_LOSS = quick(r"\{'(?:train_)?loss': ")
# Lines that prove work without counting steps: End epoch 3: {'mean_loss': 2.41 · epoch 4, train loss 0.31 · the events of an MLPerf log.
_PASSED_EPOCH = quick(
    r"(?i)\b(?:epoch|round)\b[ :=#]{1,3}\[?\d+\b(?!\])(?=.{0,120}loss['\"]?(?: is)?[ :=]{1,3}-?\d)|^(?:\d+: )?:::MLLOG .{0,120}?"
    r"\"key\": \"(?:(?:epoch|block|eval)_(?:start|stop)|eval_accuracy|tracked_stats|train_samples)\""
    # Evaluation  [2006/2007]  eta: 0:00:04    time: 6.2983  data: 0.0942  max mem: 17334
    # Test set: Average loss: 0.0563, Accuracy: 9812/10000 (98%) · * Acc@1 76.130 Acc@5 92.862 · Average Precision  (AP) @[ … ] = 0.377
    r"|\bacc(?:uracy)?@\d+ {0,2}[:=]? {0,2}\d|\baverage loss: \d[\d.]*, accuracy: |\baverage precision {1,2}\(ap\) @\["
    r"|\[ *\d+/\d+\] {1,3}eta: \d[\d:]*(?: days?, [\d:]+)? .{0,400}?\btime: [\d.]+"
)
# What a program says when it caught a failure and goes on.
_CAUGHT = quick(
    r"(?i)\bskip(?:ping|ped)? (?:this |the |current )?(?:batch|sample|step|update)|attempting to recover|\bretry(?:ing)? (?:in |with )?\d"
    r"|retrying\b|\breduc(?:ing|ed) (?:the )?(?:micro[ _-]?)?batch|trying batch size|will retry|will try again|falling back (?:to|on)"
)
# What a tuner says behind an exception of one of the variants that it tries.
_SET_ASIDE = quick(r"Ignoring this choice\.")
# What a program says when it starts from what an earlier one had saved.
_RESUMED = quick(
    r"(?i)\bresum(?:ing|ed) (?:training |run )?from|\brestor(?:ing|ed) (?:all )?(?:states )?from|restored all states|"
    r"(?:successfully )?loaded checkpoint .{0,200}at iteration"
)
# Starting from iteration 40 · next step …
_BEGINS = quick(r"(?i)(?:start|resum|restor|load|sav)\w*\b(?=.{0,60}\b(?:iteration|step))|^next step")
# Total optimization steps = 3000 · Gradient Accumulation steps = 4 · warmup_steps: 100 : how many there are to be, not where a rank is.
_ANNOUNCED = quick(
    r"(?i)(?<![/\w])(?:total|max(?:imum)?|num(?:ber of)?|accumulation|warm-?up)[_ ](?:\w+[_ ]){0,2}steps\b[\"']?\s{0,3}[=:]"
)
# A bar of the work around training: alive, but no training step.
_OTHER_WORK = quick(
    r"(?i)^\W*(?:map|filter|flatten\w*|generating|download\w*|fetch\w*|load\w*|token\w*|casting|saving|creating|running tokenizer"
    r"|group\w*|pack\w*|preprocess\w*|processing|resolving|upload\w*|shard\w*|checking|extract\w*|convert\w*|capturing)\b"
)
_QUICK = re.compile(r"(?i)step|^tick |round\b|images/sec|iter|epoch|'loss'|batch \[|batch=|perf \d|\d/\d|train: |acc|average ")
_FINISHED = quick(
    r"(?i)(?:training|tuning) (?:is |has |was )?(?:complete|finished|done)|finished (?:\w+ )?training|run_stop|exits successfully|"
    r"saved final|all done\b|benchmark (?:complete|done)|'train_runtime'|train_runtime +=|^\W*(?:predict|test)_runtime +="
    r"|\bfinal validation metrics\b|^process finished with exit code 0\s*$"
    # LSF, SkyPilot and HTCondor of a job that left with code 0.
    r"|^\s*successfully completed\.\s*$|\bjob finished \(status: succeeded\)|\(1\) normal termination \(return value 0\)"
)
# "POST /v1/chat/completions HTTP/1.1" 200 OK
_ANSWERED = quick(r'"POST /\S{1,200} HTTP/[\d.]+" 200\b')
# A request that was at fault itself, and one that the server could not serve.
_REFUSED = quick(r'"POST /\S{1,200} HTTP/[\d.]+" (?:400|413|422)\b')
_FAILED = quick(r'"POST /\S{1,200} HTTP/[\d.]+" 5\d\d\b')
# Avg generation throughput: 88.0 tokens/s · cuda graph: True, gen throughput (token/s): 61.22
_GENERATED = quick(r"\bgen(?:eration)? throughput(?: \(token/s\))?: (?:[1-9]|0\.0{0,3}[1-9])")
ANSWERS_THAT_PROVE_SERVICE = 3
LINES_TO_THE_ANSWER = 40
WORK_BEHIND_A_REQUEST = 2
CAUGHT_NEAR = 3
LONGEST_LAPSE_S = 120.0
_MOST_LATER = 8
# INFO text_generation_router::server: router/src/server.rs:2266: Connected · Started GRPCInferenceService at 0.0.0.0:8001
_STARTED = quick(
    r"Application startup complete|init engine \(.{0,80}\) took|The server is fired up and ready"
    r"|text_generation_router.{0,60}: Connected\s*$|Started (?:GRPCInferenceService|HTTPService) at |Application '[^']{1,80}' is ready at "
)
# Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.
_MET = quick(r"Completed store-based barrier for key: ?(\S+)")
# nfs: server filer7 OK · Lustre: work-MDT0000-mdc-ffff8f1c: Connection restored to 10.4.0.7@o2ib (at 10.4.0.7@o2ib)
# mlx5_core 0000:18:00.0 ens1: Link up · bnxt_en 0000:18:00.0 ens1: NIC Link is Up, 100000 Mbps full duplex
_BACK = quick(
    r"nfs: server (\S+) OK\b|Lustre: (?:.{0,120} )?([\w-]{1,80}?)-(?:mdc|osc|mgc)-\w+: Connection restored to "
    r"|mlx5_core ([0-9a-f:.]{6,15}[0-9a-f]):? (?:[\w.]{1,20}: )?Link up\b|([\w.]+): NIC Link is Up\b"
)
# What the end of a job says has much behind it on many ranks, so it is kept wherever it stands.
NEEDLES = dict.fromkeys(
    (
        "predict_runtime", "test_runtime",
        "raining complete", "raining is complete", "raining finished", "raining done", "inished training", "run_stop", "train_runtime",
        "rocess finished with exit code 0",
        "pplication startup complete", "init engine (", "server is fired up and ready", ": Connected", "InferenceService at ",
        " is ready at http", "inal validation metrics", "kipping batch", "ttempting to recover", "etrying", "educing batch",
        "esuming from", "esumed from", "esuming training from", "estored all states", "estored from", "oaded checkpoint",
        "Successfully completed.", "(status: SUCCEEDED)", "termination (return value 0)",
        "gnoring this choice", "Completed store-based barrier",
        "nfs: server ", "Connection restored to ", "Link up", "NIC Link is Up",
        " generation throughput: ", " gen throughput (",
        '" 400 Bad Request', '" 413 Request', '" 422 Unprocessable', '" 500 Internal Server',
    ), 0
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One progress line. `seconds` is the step time where the line gives it; `bar` marks a progress bar without a loss.

    `parts_s` are the named parts of the step that the line times, in seconds, without those that are spent waiting for others.
    """

    line: Line
    rank: int | None
    step: int | None
    total: int | None
    seconds: float | None
    bar: bool
    parts_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class ProgressFacts:
    """All progress that was sampled, in file and line order."""

    steps: list[Step] = field(default_factory=list)
    finished: Line | None = None
    ends: list[Line] = field(default_factory=list)
    """Every line that says so, of which `finished` is the last."""
    finished_by: dict[int, Line] = field(default_factory=dict)
    answers: list[Line] = field(default_factory=list)
    starts: list[Line] = field(default_factory=list)
    caught: list[Line] = field(default_factory=list)
    resumed: list[Line] = field(default_factory=list)
    set_aside: list[Line] = field(default_factory=list)
    generated: list[Line] = field(default_factory=list)
    refused: list[Line] = field(default_factory=list)
    failed: list[Line] = field(default_factory=list)
    met: list[tuple[Line, str]] = field(default_factory=list)
    back: list[tuple[Line, str]] = field(default_factory=list)
    """Lines of the kernel by which a file server or a link, named behind them, is there again."""
    _by_file: dict[int, list[Step]] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        """Steps come in file and line order."""
        self.steps.append(step)
        if not step.bar:
            self._by_file.setdefault(step.line.file, []).append(step)

    def in_file(self, file: int) -> Sequence[Step]:
        """The steps of one input in line order, without bars."""
        return self._by_file.get(file, ())

    def whole_bars(self, file: int) -> list[Line]:
        """The lines of one input that show a bar which ran to its end; that of a preparation is none."""
        return [s.line for s in self.steps if s.line.file == file and s.bar and s.total and s.step == s.total]

    def work_in(self, file: int) -> list[Line]:
        """The lines of one input that show work, those of progress bars too."""
        return [s.line for s in self.steps if s.line.file == file and (s.step is not None or not s.bar)]

    def starts_after(self, line: Line) -> bool:
        """Whether a server came up after a line of the same input."""
        return any(x.file == line.file and x.number > line.number for x in self.starts)

    def meets_after(self, line: Line, key: str) -> bool:
        """Whether the barrier of this key was completed after a line of the same input."""
        return any(x.file == line.file and x.number > line.number and k == key for x, k in self.met)

    def is_back(self, line: Line, name: str) -> bool:
        """Whether the file server or the link that a line misses was back soon, as far as times tell."""
        return any(
            x.file == line.file and x.number > line.number and known == name
            and (x.time_s is None or line.time_s is None or x.time_s - line.time_s <= LONGEST_LAPSE_S)
            for x, known in self.back
        )  # fmt: skip

    def generates_after(self, line: Line) -> bool:
        """Whether a server generated tokens after a line of the same input."""
        return any(x.file == line.file and x.number > line.number for x in self.generated)

    def works_after(self, line: Line) -> bool:
        """Whether a server answered or generated more than once after a line of the same input."""
        work = (x for known in (self.answers, self.generated) for x in known if x.file == line.file and x.number > line.number)
        return sum(1 for _ in itertools.islice(work, WORK_BEHIND_A_REQUEST)) == WORK_BEHIND_A_REQUEST

    def serves_after(self, line: Line) -> bool:
        """Whether a server went on to answer requests after a line of the same input."""
        later = [x for x in self.answers if x.file == line.file and x.number > line.number]
        return len(later) >= ANSWERS_THAT_PROVE_SERVICE

    def caught_near(self, file: int, first: int, last: int) -> bool:
        """Whether the program says within a few lines of `first` to `last` that it goes on in spite of what they tell."""
        return _any_between(self.caught, file, first - CAUGHT_NEAR, last + CAUGHT_NEAR)

    def set_aside_behind(self, line: Line) -> bool:
        """Whether the process that printed a line says within the next few that it does without what failed."""
        i = bisect.bisect_right(self.set_aside, (line.file, line.number), key=lambda x: (x.file, x.number))
        last = bisect.bisect_right(self.set_aside, (line.file, line.number + CAUGHT_NEAR), key=lambda x: (x.file, x.number))
        return any(x.origin.rank == line.origin.rank for x in self.set_aside[i:last])

    def resumes_between(self, line: Line, later: Line) -> bool:
        """Whether work was taken up again from something saved between two lines of one input."""
        return _any_between(self.resumed, line.file, line.number + 1, later.number - 1)

    def refuses_after(self, line: Line) -> bool:
        """Whether the process that printed a line at once refused the request, and served none badly: then the request was at fault."""

        def near(answers: Sequence[Line]) -> bool:
            i = bisect.bisect_right(answers, (line.file, line.number), key=lambda x: (x.file, x.number))
            last = bisect.bisect_right(answers, (line.file, line.number + LINES_TO_THE_ANSWER), key=lambda x: (x.file, x.number))
            p = line.origin
            return any((x.origin.label, x.origin.pid) == (p.label, p.pid) for x in answers[i:last])

        return near(self.refused) and not near(self.failed)

    def last(self) -> Step | None:
        """The last training step seen: the latest by time across inputs, by place in one."""
        counted = [s for s in self.steps if s.step is not None]
        real = [s for s in counted if not s.bar] or counted
        dated = [s for s in real if s.line.time_s is not None and not s.line.time_of_day]
        if dated and len({s.line.file for s in real}) > 1:
            return max(dated, key=lambda s: (s.line.time_s or 0, s.step or 0))
        return real[-1] if real else None

    def after(self, line: Line, rank: int | None) -> list[Step]:
        """Later training steps in the same input, of the same rank where both are known; by time where both lines have one."""
        later: list[Step] = []
        for s in reversed(self.in_file(line.file)):
            if s.line.number <= line.number or len(later) >= _MOST_LATER:
                break
            if rank is not None and s.rank is not None and s.rank != rank:
                continue
            dated = s.line.time_s is not None and line.time_s is not None and s.line.time_of_day == line.time_of_day
            if not dated or (s.line.time_s or 0.0) > (line.time_s or 0.0):
                later.append(s)
        return later


def _any_between(lines: Sequence[Line], file: int, first: int, last: int) -> bool:
    """Whether any of lines that are in file and line order has a number from `first` to `last`."""
    i = bisect.bisect_left(lines, (file, first), key=lambda x: (x.file, x.number))
    return i < len(lines) and lines[i].file == file and lines[i].number <= last


def read_progress(reading: Reading, ranks: Ranks) -> ProgressFacts:
    """The progress lines among the sampled lines."""
    facts = ProgressFacts()
    for f in reading.files:
        for line in sorted({x.number: x for x in (*f.lines, *f.samples)}.values(), key=lambda x: x.number):
            if _FINISHED.search(line.text) and "not " not in line.text[:40]:
                facts.finished = line
                facts.ends.append(line)
                if (rank := ranks.of_line(line)) is not None:
                    facts.finished_by.setdefault(rank, line)
            elif _STARTED.search(line.text):
                facts.starts.append(line)
            elif m := _MET.search(line.text):
                facts.met.append((line, m[1]))
            elif m := _BACK.search(line.text):
                facts.back.append((line, m[m.lastindex or 0]))
            elif '"POST ' in line.text:
                for answer, known in ((_ANSWERED, facts.answers), (_REFUSED, facts.refused), (_FAILED, facts.failed)):
                    if answer.search(line.text):
                        known.append(line)
            elif " throughput" in line.text and _GENERATED.search(line.text):
                facts.generated.append(line)
            if "gnoring this" in line.text and _SET_ASIDE.search(line.text):
                facts.set_aside.append(line)
            elif _CAUGHT.search(line.text):
                facts.caught.append(line)
            elif _RESUMED.search(line.text):
                facts.resumed.append(line)
        for line in f.samples:
            if _QUICK.search(line.text) and (step := read_step(line, ranks.of_line(line))):
                facts.add(step)
    return facts


def read_step(line: Line, rank: int | None) -> Step | None:
    """The progress a line shows, or `None`."""
    text = line.text[-600:] if len(line.text) > 600 else line.text
    if _BEGINS.search(text) or _ANNOUNCED.search(text):
        return None
    for style in _STYLES:
        m = style.search(text)
        if m is None:
            continue
        g = m.groupdict()
        seconds = float(g["s"]) if g.get("s") and g["s"].count(".") < 2 else None
        if g.get("t") and g["t"].count(".") < 2:
            seconds = float(g["t"]) / (1000 if g.get("u") == "ms" else 1)
        if g.get("n") and seconds is not None:
            seconds /= max(int(g["n"]), 1)
        bar = not _LOSS.search(text) and not _NO_BAR.search(text)
        total = int(g["total"]) if g.get("total") else None
        if bar and _OTHER_WORK.search(text):
            return Step(line, rank, None, None, None, True)
        return Step(line, rank, int(g["step"]), total, seconds, bar, _parts(text) if rank is not None else {})
    if _LOGGED_LOSS.search(text) or _PASSED_EPOCH.search(text):
        return Step(line, rank, None, None, None, False)
    return None


# compute: 0.552s · data_time=12.1ms
_PART = quick(r"\b([a-z][a-z_]{2,24})[:=] ?(\d+(?:\.\d+)?) ?(ms|s)\b")
_WAITING = quick(r"wait|comm|sync|reduce|gather|idle|barrier|total|eta|elapsed")


def _parts(text: str) -> dict[str, float]:
    return {m[1]: float(m[2]) / (1000 if m[3] == "ms" else 1) for m in _PART.finditer(text) if not _WAITING.search(m[1])}
