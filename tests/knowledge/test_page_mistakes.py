"""Pages of the user's own: proposed from a line, checked, and every mistake told in four parts with its line."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firstfault.cli import main
from firstfault.diagnose import diagnose_text
from firstfault.errors import PageError
from firstfault.knowledge.check import check_text
from firstfault.knowledge.library import OWN_LAYER, load_library
from firstfault.knowledge.scaffold import HINTS, propose_page

LIBRARY = load_library()
PATH = "pages/widget-exploded.md"
LINE = "[rank3]: 2026-03-04 10:00:00,123 ERROR WidgetFault: widget 12 of 'box' exploded at 0x7f in /opt/app/run.py"

GOOD = """\
+++
title = "A widget exploded"
role = "initiating"
scope = "rank"
severity = "error"
tags = ["widget"]
related = ["port-in-use"]
impact = "The job stops."
on_call = "Restart it."
[[settings]]
kind = "env"
name = "WIDGET_FUSE"
value = "1"
[[missing]]
fact = "The size of the widget"
command = "widget --size"
decides = ["disk-full"]
[alternatives]
disk-full = "a full disk makes widgets explode"
+++

{rank} lost its widget {widget|of unknown number}.

## What you see

The log ends with a line on a widget that exploded on one rank.

## Why it happens

Widgets explode under pressure, and nothing takes the pressure away.

## Confirm

1. Count the widgets of the host before and after the run.

## Fix

### Set WIDGET_FUSE

It limits the pressure.

```bash
export WIDGET_FUSE=1
```

## Verify

### No widget explodes

```bash
widget --check
```

```text
all well
```

## Prevent

Test widgets before every run, on every host of the job.

## Watch for it

`grep WidgetFault run.log` shows it on every rank at once.

## From one GPU to a thousand

One widget fails alike on one GPU and on a thousand of them.

## Does not prove

- That the host is broken: the widget may be a copy.

## References

- https://docs.example.org/widgets

## Signatures

```signature
needle: WidgetFault: widget
WidgetFault: widget (?P<widget>\\d+) of '[^']{0,80}' exploded
```

```log fires widget="12"
[rank3]: WidgetFault: widget 12 of 'box' exploded
```

```log fires widget="9"
WidgetFault: widget 9 of 'jar' exploded
```

```log silent advice
WidgetFault: widgets may explode, see the manual
```
"""


def problems(text, path=PATH):
    return check_text(LIBRARY, text, path)


def line_of(text, words):
    return next(number for number, line in enumerate(text.split("\n"), 1) if words in line)


def test_a_good_page_has_no_problem():
    assert [str(p) for p in problems(GOOD)] == []


MISTAKES = {
    "TOML": ('title = "A widget exploded"', "title = A widget exploded", "is not TOML", "title = A"),
    "TOML that ends early": ('title = "A widget exploded"', 'title = "A widget exploded', "is not TOML", "title ="),
    "unclosed list": ('tags = ["widget"]', 'tags = ["widget"', "is not TOML", "related ="),
    "no front matter": ("+++\ntitle", "title", "front matter is missing", 'title = "A'),
    "unknown key": ('tags = ["widget"]', 'tagz = ["widget"]', "unknown key 'tagz'", "tagz"),
    "missing key": ('impact = "The job stops."\n', "", "lacks 'impact'", "+++"),
    "empty key": ('impact = "The job stops."', 'impact = ""', "lacks 'impact'", "impact ="),
    "text instead of list": ('tags = ["widget"]', 'tags = "widget"', "tags is no list of texts", "tags ="),
    "number instead of text": ('on_call = "Restart it."', "on_call = 7", "on_call is no text", "on_call ="),
    "number in a list": ('tags = ["widget"]', "tags = [7]", "tags is no list of texts", "tags ="),
    "unknown role": ('role = "initiating"', 'role = "initiator"', "role is 'initiator'", "role ="),
    "unknown scope": ('scope = "rank"', 'scope = "world"', "scope is 'world'", "scope ="),
    "unknown severity": ('severity = "error"', 'severity = "fatal"', "severity is 'fatal'", "severity ="),
    "unknown tells": ('scope = "rank"', 'scope = "rank"\ntells = "wait"', "tells is 'wait'", "tells ="),
    "unknown sign": ('scope = "rank"', 'scope = "rank"\nshown_by = ["behnd"]', "shown_by is 'behnd'", "shown_by ="),
    "unknown kind of setting": ('kind = "env"', 'kind = "environment"', "kind is 'environment'", "[[settings]]"),
    "setting without value": ('value = "1"\n', "", "lacks 'value'", "[[settings]]"),
    "setting as a table": ("[[settings]]", "[settings]", "settings is no list of tables", "[settings]"),
    "missing fact without command": ('command = "widget --size"\n', "", "lacks 'command'", "[[missing]]"),
    "unknown key of a table": ('fact = "The', 'facts = "The', "lacks 'fact'", "[[missing]]"),
    "setting that no fix names": ('name = "WIDGET_FUSE"', 'name = "WIDGET_LOCK"', "no fix names the setting", "[[settings]]"),
    "no quick answer": ("{rank} lost its widget {widget|of unknown number}.", "", "quick answer is missing", ""),
    "placeholder without fallback": ("{widget|of unknown number}", "{widget}", "may show {widget}", "{rank} lost"),
    "unknown section": ("## Prevent", "## Prevention", "unknown section 'Prevention'", "## Prevention"),
    "section twice": ("## Prevent\n", "## Confirm\n", "out of order: 'Confirm'", ""),
    "section missing": (
        "## Prevent\n\nTest widgets before every run, on every host of the job.\n", "", "sections are missing: Prevent", "",
    ),
    "section nearly empty": (
        "Test widgets before every run, on every host of the job.", "See above.", "'Prevent' is nearly empty", "## Prevent",
    ),
    "no URL": ("- https://docs.example.org/widgets", "- the manual of widgets", "cites no URL", "## References"),
    "fix without items": ("### Set WIDGET_FUSE\n", "", "Fix section has no items", "## Fix"),
    "verification without command": ("```bash\nwidget --check\n```\n", "", "lacks a command", "### No widget explodes"),
    "unclosed fence": ("```text\nall well\n```", "```text\nall well", "a fence is not closed", ""),
    "regex": ("(?P<widget>\\d+)", "(?P<widget>\\d+", "regex does not compile", "```signature"),
    "regex that Python does not know": ("(?P<widget>\\d+)", "(?P<widget>\\p{Nd}+)", "regex does not compile", "```signature"),
    "regex that matches all": ("WidgetFault: widget (?P<widget>\\d+) of '[^']{0,80}' exploded", "(?P<widget>\\d*)", "empty line", "```sig"),
    "two regexes": ("needle: WidgetFault: widget\n", "needle: WidgetFault: widget\nWidgetFault\n", "one regex line", "```signature"),
    "no needle": ("needle: WidgetFault: widget\n", "", "needs `needle", "```signature"),
    "short needle": ("needle: WidgetFault: widget", "needle: Wi", "shorter than three", "```signature"),
    "unknown strength": ("```signature", "```signature loud", "unknown signature strength", "```signature loud"),
    "example that does not fire": ("WidgetFault: widget 9 of 'jar' exploded", "widget 9 of 'jar' burst", "does not fire", "```log fires widget=\"9\""),
    "capture that differs": ('```log fires widget="9"', '```log fires widget="8"', "capture widget is '9'", '```log fires widget="8"'),
    "capture without value": ('```log fires widget="9"', "```log fires widget", "no value for 'widget'", ""),
    "quote left open": ('```log fires widget="9"', '```log fires widget="9', "captures of an example", '```log fires widget="9'),
    "near miss that fires": ("widgets may explode", "widget 7 of 'x' exploded", "near miss 'advice' fires", "```log silent"),
    "near miss without a name": ("```log silent advice", "```log silent", "named after its trap", "```log silent"),
    "only one example": (
        "```log fires widget=\"9\"\nWidgetFault: widget 9 of 'jar' exploded\n```\n", "", "fewer than two", "```signature",
    ),
    "no near miss": (
        "```log silent advice\nWidgetFault: widgets may explode, see the manual\n```\n", "", "no `log silent`", "```signature",
    ),
    "unknown failure": ('related = ["port-in-use"]', 'related = ["port-in-used"]', "unknown failure 'port-in-used'", "related ="),
    "unknown failure that decides": ('decides = ["disk-full"]', 'decides = ["disk-fall"]', "unknown failure 'disk-fall'", "decides ="),
    "itself": ('related = ["port-in-use"]', 'related = ["widget-exploded"]', "names itself", "related ="),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_four_parts_with_its_line(mistake):
    before, after, what, place = MISTAKES[mistake]
    assert GOOD.count(before) >= 1
    text = GOOD.replace(before, after, 1)
    found = problems(text)
    assert found, "nothing was told"
    problem = next((p for p in found if what in p.what), None)
    assert problem, [p.what for p in found]
    parts = str(problem).split("\n")
    assert [part.strip().split(":")[0] for part in parts] == ["error", "reason", "where", "help"], parts
    assert all(len(part.split(": ", 1)[1]) > 5 for part in parts), parts
    assert re.fullmatch(rf"{PATH}:[1-9]\d*", problem.where)
    if place:
        assert problem.line == line_of(text, place)
    assert 1 <= problem.line <= len(text.split("\n"))


def test_a_symptom_must_say_what_is_missing():
    text = re.sub(r"\[\[missing\]\].*?(?=\[alternatives\])", "", GOOD, flags=re.DOTALL).replace('"initiating"', '"symptom"')
    (problem,) = problems(text)
    assert "names no missing fact" in problem.what and problem.line == line_of(text, "role =")


def test_alternatives_are_a_table_of_texts():
    text = GOOD.replace('disk-full = "a full disk makes widgets explode"', "disk-full = 7")
    assert "alternatives is no table of texts" in problems(text)[0].what


def test_a_head_that_is_never_closed_is_told():
    assert "not closed" in problems("+++\ntitle = 'x'\n\ntext\n")[0].what
    assert "missing" in problems("")[0].what


def test_a_file_name_that_is_no_id_is_told():
    (problem,) = problems(GOOD, "pages/My Widget.md")
    assert "is not an id" in problem.what and problem.help


def test_two_pages_that_match_each_others_examples_are_told():
    text = GOOD.replace("WidgetFault: widget (?P<widget>\\d+) of '[^']{0,80}' exploded", ".*(?P<widget>12|9|already in use).*")
    text = text.replace("needle: WidgetFault: widget", "needle: WidgetFault: widget\nneedle: already in use")
    text = text.replace('```log silent advice', '```log fires\nOSError: [Errno 98] Address already in use\n```\n\n```log silent advice')
    found = [p.what for p in problems(text)]
    assert any("match each other's examples" in what and "port-in-use" in what for what in found), found


@given(st.lists(st.sampled_from(GOOD.split("\n")), max_size=60), st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_mixture_of_lines_of_a_page_gives_problems_and_no_exception(lines, words):
    for text in ("\n".join(lines), "+++\n" + "\n".join(lines), GOOD[: len(words) * 37] + words + GOOD[len(words) * 37 :]):
        for problem in problems(text):
            assert problem.what and problem.reason and problem.help and problem.line >= 1


# -- from a line to a page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        "WidgetFault",
        "\x1b[31m[rank3]: ERROR\x1b[0m the \x1b[1mwidget\x1b[0m exploded",
        " 10%|█         | 1/10 [00:01<00:09]\r 20%|██        | 2/10 [00:02<00:08]WidgetFault: exploded after 2",
        "the `widget` said ```boom``` twice",
        "Ошибка: виджет 7 взорвался",
        "WidgetFault: " + "pressure 12 over limit, " * 200,
        "a[b]*c+(d)? {e} ^f$ |g| \\h widget 5",
        '12:00:00 node-07 widget["seven"]: "exploded" in 0xdeadbeef after 12.5 s',
        "needle: a line that begins like the format",
        "[1,12]<stderr>:widgetd: fuse 12 blown",
    ],
)
def test_a_page_proposed_from_any_line_fires_on_it(line):
    page = propose_page("widget-exploded", line)
    unfinished = [p for p in problems(page) if p.blocks]
    assert [str(p) for p in unfinished] == []
    assert {p.what for p in problems(page)} == {f"section {name!r} still holds the text of the template" for name in HINTS}


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=200))
@example("fai")
@example("Hint: a line that looks alike and is no failure")
@settings(max_examples=150, deadline=None)
def test_any_line_gives_a_page_that_fires_or_a_reason(line):
    try:
        page = propose_page("some-failure", line)
    except PageError as error:
        assert error.what and error.reason and error.where and error.help
    else:
        assert [str(p) for p in problems(page) if p.blocks and "examples" not in p.what] == []


@pytest.mark.parametrize("line", ["", "   ", "12345 67.8 0xff", "----", "\r\r"])
def test_a_line_without_words_is_refused(line):
    with pytest.raises(PageError, match="no words"):
        propose_page("widget-exploded", line)


def test_the_user_gets_from_a_line_to_a_diagnosis(tmp_path, capsys):
    log, pages = tmp_path / "run.log", tmp_path / ".firstfault" / "pages"
    log.write_text(f"torch 2.9\n{LINE}\n")
    assert main(["new", "widget-exploded", "--from", f"{log}:2", "--dir", str(pages)]) == 0
    assert main(["check", "widget-exploded", "--pages", str(pages)]) == 1
    out = capsys.readouterr().out
    assert f"{pages / 'widget-exploded.md'}:" in out and "10 problems, 3 examples, 1 pages" in out

    (pages / "widget-exploded.md").write_text(GOOD)
    assert main(["check", "widget-exploded", "--pages", str(pages)]) == 0
    assert main(["diagnose", str(log), "--pages", str(pages)]) == 1
    assert "Rank 3 lost its widget 12." in capsys.readouterr().out
    assert main(["explain", "widget-exploded", "--pages", str(pages)]) == 0
    assert main(["list", "--layer", OWN_LAYER, "--pages", str(pages)]) == 0
    capsys.readouterr()
    assert main(["search", "exploded", "widget", "--pages", str(pages)]) == 0
    assert capsys.readouterr().out.startswith("widget-exploded")


def test_a_broken_page_is_told_by_check_and_does_not_hide_the_others(tmp_path, capsys):
    (tmp_path / "widget-exploded.md").write_text(GOOD)
    (tmp_path / "broken-page.md").write_text(GOOD.replace('role = "initiating"', 'role = "boss"'))
    assert main(["check", "--pages", str(tmp_path)]) == 1
    assert f"{tmp_path / 'broken-page.md'}:3" in capsys.readouterr().out
    assert main(["check", "broken-page", "--pages", str(tmp_path)]) == 1
    assert main(["check", "widget-exploded", "--pages", str(tmp_path)]) == 0
    library = load_library((tmp_path,))
    assert library.pages["widget-exploded"].layer == OWN_LAYER and "broken-page" not in library.pages
    assert diagnose_text(LINE, library=library).report.incidents[0].failure == "widget-exploded"


def test_an_own_page_takes_the_place_of_one_of_the_encyclopedia(tmp_path, capsys):
    log = tmp_path / "run.log"
    log.write_text("[rank0]: OSError: [Errno 98] Address already in use\n")
    assert main(["new", "port-in-use", "--from", f"{log}:1", "--dir", str(tmp_path)]) == 0
    assert "takes the place of the page port-in-use" in capsys.readouterr().out
    assert load_library((tmp_path,)).page("port-in-use").layer == OWN_LAYER
    assert load_library().page("port-in-use").layer != OWN_LAYER


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["new", "Widget", "--from", "{log}:1"], "is not an id"),
        (["new", "widget-exploded", "--from", "{log}"], "needs a log and a line"),
        (["new", "widget-exploded", "--from", "{log}:99"], "has no line 99"),
        (["new", "widget-exploded", "--from", "/nowhere/x.log:1"], "cannot read"),
        (["check", "no-such-page"], "no page is called"),
        (["check", "--pages", "/nowhere"], "no such folder"),
    ],
)
def test_wrong_usage_is_told_in_four_parts(tmp_path, capsys, arguments, what):
    log = tmp_path / "run.log"
    log.write_text(LINE)
    extra = ["--dir", str(tmp_path)] if arguments[0] == "new" else []
    assert main([a.replace("{log}", str(log)) for a in arguments] + extra) == 2
    told = capsys.readouterr().err
    assert what in told and "reason:" in told and "help:" in told
