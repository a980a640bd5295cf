"""The report view as a document: everything escaped, a strict policy, sound structure, the same content in both places."""

import base64
import hashlib
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.cli import main
from firstfault.diagnose import diagnose
from firstfault.knowledge.library import load_library
from firstfault.render.html import report_html
from firstfault.render.incident_view import setting_line
from firstfault.render.prose import prose_html

from .reports import HOSTILE, hostile_report, large_report

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "server" / "firstfault" / "render" / "assets"
LIBRARY = load_library()
SAMPLES = sorted((ROOT / "samples").glob("*.log"))
NONCE = "bm9uY2Utb2YtYS10ZXN0"
SOURCE = "https://*.vscode-cdn.net"
VOID = {"meta", "br", "hr"}
TAGS = set(
    "html head meta title style body div h1 h2 h3 h4 h5 h6 button main p article header section span dl dt dd ol ul li pre code mark b "
    "strong em a details summary table caption thead tbody tr th td noscript script".split()
)


class Document(HTMLParser):
    """The elements of a document with their attributes, and its text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.stack, self.data = [], [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        assert len({k for k, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        tag, attrs = self.stack[-1] if self.stack else ("", {})
        if tag in ("script", "style"):
            self.data[attrs.get("id") or tag] = self.data.get(attrs.get("id") or tag, "") + data
        else:
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    def having(self, **attributes):
        return [(t, a) for t, a in self.elements if all(a.get(k.replace("_", "-")) == v for k, v in attributes.items())]


def file_html(report):
    return report_html(report, host="file", pages=LIBRARY)


def webview_html(report):
    return report_html(report, host="webview", nonce=NONCE, csp_source=SOURCE, pages=LIBRARY)


def reports():
    return [hostile_report(), large_report(32, 5)] + [diagnose([p], library=LIBRARY).report for p in SAMPLES]


REPORTS = reports()
BOTH = pytest.mark.parametrize("render", [file_html, webview_html])


@BOTH
@pytest.mark.parametrize("report", REPORTS, ids=lambda r: r.incidents[0].failure[:20])
def test_nothing_from_a_report_becomes_markup(report, render):
    document = Document(render(report))
    assert document.stack == []
    kinds = Counter(a.get("type", "run") for t, a in document.elements if t == "script")
    assert kinds == {"run": 1, "application/json": 2}
    assert sum(t == "style" for t, _ in document.elements) == 1
    for tag, attributes in document.elements:
        assert not [k for k in attributes if k.startswith("on") or k in ("src", "srcset", "style", "action", "formaction", "srcdoc")]
        if "href" in attributes:
            assert tag == "a" and re.match(r"https://|http://|#page-", attributes["href"]), attributes["href"]


@given(st.text(st.one_of(st.sampled_from("<>&'\"/`=-!scriptonerror "), st.characters()), min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_any_text_in_every_place_stays_text(text):
    document = Document(webview_html(hostile_report(text)))
    assert document.stack == []
    assert [t for t, _ in document.elements].count("script") == 3


def test_the_hostile_line_is_shown_as_it_is():
    shown = HOSTILE.replace("\x00", "\N{REPLACEMENT CHARACTER}").replace("\x1b", "\N{REPLACEMENT CHARACTER}")
    document = Document(file_html(hostile_report()))
    assert " ".join(shown.split()) in document.text
    copied = [a["data-text"] for _, a in document.having(data_action="copy") if "data-text" in a]
    assert shown in copied


def test_a_file_allows_only_its_own_style_and_script():
    page = file_html(REPORTS[2])
    document = Document(page)
    (policy,) = [a["content"] for _, a in document.having(http_equiv="Content-Security-Policy")]

    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest(document.data['style'])}'; "
        f"script-src 'sha256-{digest(document.data['script'])}'; base-uri 'none'; form-action 'none'"
    )
    assert "nonce" not in page
    # The policy binds only what comes behind it.
    assert page.index("Content-Security-Policy") < page.index("<style")


def test_the_webview_allows_only_what_has_its_nonce():
    document = Document(webview_html(REPORTS[2]))
    (policy,) = [a["content"] for _, a in document.having(http_equiv="Content-Security-Policy")]
    assert policy == (
        f"default-src 'none'; style-src {SOURCE} 'nonce-{NONCE}'; script-src 'nonce-{NONCE}'; base-uri 'none'; form-action 'none'"
    )
    for tag, attributes in document.elements:
        executed = tag == "style" or tag == "script" and "type" not in attributes
        assert (attributes.get("nonce") == NONCE) == executed


@pytest.mark.parametrize(
    "given_", [{"nonce": ""}, {"nonce": "a b c d e f g h"}, {"nonce": "'; script-src *"}, {"csp_source": "x; script-src *"}]
)
def test_a_nonce_or_source_cannot_widen_the_policy(given_):
    with pytest.raises(ValueError, match="policy"):
        report_html(REPORTS[2], host="webview", pages=LIBRARY, **{"nonce": NONCE, **given_})


def test_another_host_is_refused():
    with pytest.raises(ValueError, match="host"):
        report_html(REPORTS[2], host="browser", pages=LIBRARY)


@pytest.mark.parametrize("asset", sorted(ASSETS.iterdir()), ids=lambda p: p.name)
def test_assets_load_nothing_and_build_no_markup_from_text(asset):
    text = asset.read_text(encoding="utf-8")
    for word in (
        "</",
        "<!--",
        "http:",
        "https:",
        "url(",
        "@import",
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "eval(",
        "Function(",
        "fetch(",
    ):
        assert word not in text
    assert len(text.split("\n")) < 400


@BOTH
def test_the_same_report_gives_the_same_document(render):
    assert render(REPORTS[2]) == render(REPORTS[2])


@BOTH
@pytest.mark.parametrize("report", REPORTS, ids=lambda r: r.incidents[0].failure[:20])
def test_structure_is_sound(report, render):
    document = Document(render(report))
    ids = [a["id"] for _, a in document.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in document.elements:
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
        if attributes.get("role") == "region":
            assert attributes["aria-label"] and attributes["tabindex"] == "0"
    levels = [int(t[1]) for t, _ in document.elements if re.fullmatch(r"h[1-6]", t)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    assert all(a.get("type") == "button" for t, a in document.elements if t == "button")
    assert [t for t, _ in document.elements].count("main") == 1
    assert ("html", {"lang": "en", "data-host": "file" if render is file_html else "webview"}) in document.elements


@pytest.mark.parametrize("report", REPORTS[1:], ids=lambda r: r.incidents[0].failure[:20])
def test_everything_the_report_says_is_there_verdict_first(report):
    document = Document(file_html(report))
    incident = report.incidents[0]
    said = [incident.verdict.value.capitalize(), incident.title, incident.summary, "Timeline", *(e.text for e in incident.evidence)]
    at = 0
    for part in said:
        found = document.text.find(" ".join(part.split()), at)
        assert found >= at, part
        at = found
    parts = [*incident.reasons, *(c.why for c in incident.collateral), *(f.title for f in incident.fix), *report.limits]
    parts += [x for c in incident.verify for x in (c.command, c.expect)] + [m.command for m in incident.missing]
    for part in parts:
        assert " ".join(part.replace("`", "").split()) in document.text, part
    page = LIBRARY.page(incident.failure)
    assert "Does not prove" in document.text and page.impact.replace("`", "") in document.text


def test_undetermined_asks_for_the_missing_fact_before_it_offers_a_fix():
    report = diagnose([ROOT / "samples" / "killed-rank.log"], library=LIBRARY).report
    if report.incidents[0].verdict.value != "undetermined":
        report = hostile_report("plain")
    text = file_html(report)
    assert 0 < text.index('id="missing-1"') < text.index('id="fix-1"')


def test_a_file_has_no_button_that_needs_an_editor():
    actions = Counter(a["data-action"] for _, a in Document(file_html(REPORTS[1])).elements if "data-action" in a)
    assert set(actions) == {"copy", "open", "explain"}


def test_the_webview_has_a_button_for_every_message():
    document = Document(webview_html(REPORTS[1]))
    actions = {a["data-action"] for _, a in document.elements if "data-action" in a}
    assert actions == {"copy", "open", "explain", "run", "applyFix"}
    ((_, fix),) = document.having(data_action="applyFix")
    assert '"name": "NCCL_DEBUG"' in fix["data-setting"]
    # What a fix proposes may change a machine: only checks and questions can be run.
    runs = {a["data-text"] for _, a in document.having(data_action="run")}
    incident = REPORTS[1].incidents[0]
    assert runs == {incident.verify[0].command, incident.missing[0].command}


def test_a_line_that_a_command_copies_already_has_no_second_button():
    report = diagnose([ROOT / "samples" / "stuck-rank.log"], library=LIBRARY).report
    fix = next(f for f in report.incidents[0].fix if f.command and f.setting and setting_line(f.setting) in f.command.split("\n"))
    copied = [a["data-text"] for _, a in Document(file_html(report)).having(data_action="copy") if "data-text" in a]
    assert fix.command in copied
    assert setting_line(fix.setting) not in copied or fix.command == setting_line(fix.setting)


def test_a_thousand_ranks_are_counted_and_folded():
    report = large_report()
    page = file_html(report)
    document = Document(page)
    assert "1,023 lines on 1,023 ranks that followed from the first fault" in document.text
    assert "Timeline as a table: 3,072 marks in 6 rows" in document.text
    assert "0–516 and 518–1023" in document.text
    assert len(page) < 1_000_000
    assert len(document.elements) < 12_000


def test_the_markdown_to_copy_is_the_report_and_the_redacted_one_hides_hosts():
    import json

    texts = json.loads(Document(file_html(REPORTS[1])).data["texts"])
    assert "node000" in texts["markdown"] and "Rank 5 on" in texts["markdown"]
    assert "node000" not in texts["redacted"] and "Rank 5 on host-" in texts["redacted"]


# Pages -------------------------------------------------------------------------------------------------------------------------------


def prose(markdown):
    return prose_html(markdown, level=3, failure=lambda word: None)


def test_raw_html_in_a_page_is_text():
    assert "<img" not in prose('<img src=x onerror=alert(1)>\n\n<script>alert(1)</script> a <b onclick="x">b</b>')


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "command:x.y", "x.html"])
def test_links_lead_to_the_web_only(link):
    out = prose(f"[a]({link}) <{link}>\n\n[b][r]\n\n[r]: {link}\n")
    assert "href" not in out


def test_images_are_not_loaded():
    out = prose("![a picture](https://example.org/x.png)")
    assert "<img" not in out and "a picture" in out


def test_bare_addresses_become_links_and_code_does_not():
    out = prose("See https://docs.example.org/a_b/c.html#d, and `https://example.org/code`.\n\n    https://example.org/block\n")
    assert re.findall(r'href="([^"]+)"', out) == ["https://docs.example.org/a_b/c.html#d"]
    assert 'rel="noopener noreferrer"' in out


def test_headings_go_down_with_the_page_and_tables_scroll():
    out = prose("## A\n\n### B\n\n| x | y |\n|---|---|\n| 1 | 2 |\n")
    assert "<h4>A</h4>" in out and "<h5>B</h5>" in out
    assert '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>' in out


def test_every_page_is_sound_prose():
    for page in LIBRARY.pages.values():
        document = Document(prose(page.markdown))
        assert document.stack == [], page.id
        assert all(not k.startswith("on") for _, a in document.elements for k in a)


# The command line --------------------------------------------------------------------------------------------------------------------


def test_the_command_line_writes_the_file_in_utf8_whatever_the_locale(tmp_path):
    sample = ROOT / "samples" / "bad-row.log"
    done = subprocess.run(
        [sys.executable, "-m", "firstfault.cli", "diagnose", str(sample), "--format", "html"],
        capture_output=True, cwd=ROOT / "server", timeout=120, env={"PYTHONIOENCODING": "ascii", "FIRSTFAULT_CACHE": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.decode("utf-8") == file_html(diagnose([sample], library=LIBRARY).report)


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "html"])
def test_redact_masks_every_format(format_, capfdbinary):
    sample = str(ROOT / "samples" / "bad-row.log")
    assert main(["diagnose", sample, "--format", format_]) == 1
    plain = capfdbinary.readouterr().out.decode()
    assert main(["diagnose", sample, "--format", format_, "--redact"]) == 1
    masked = capfdbinary.readouterr().out.decode()
    assert "node01" in plain and "node01" not in masked and "host-1" in masked
