"""The report view in a real browser: nothing runs that should not, keys and buttons work, nothing is cut off, 1,024 ranks are usable."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from firstfault.diagnose import diagnose
from firstfault.knowledge.library import load_library
from firstfault.render.html import report_html
from firstfault.render.markdown import report_markdown

from .reports import HOSTILE, hostile_report, large_report

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library()
SAMPLE = ROOT / "samples" / "stuck-rank.log"
BROWSER = next((b for b in (shutil.which(n) for n in ("chromium", "chromium-browser", "google-chrome")) if b), None)
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    not (BROWSER and NODE and (ROOT / "node_modules" / "playwright-core").is_dir()), reason="needs node, playwright-core and chromium"
)


@pytest.fixture(scope="module")
def small():
    return diagnose([SAMPLE], library=LIBRARY).report


@pytest.fixture(scope="module")
def seen(tmp_path_factory, small):
    folder = tmp_path_factory.mktemp("views")
    views = {"hostile": hostile_report(), "small": small, "large": large_report()}
    for name, report in views.items():
        (folder / f"{name}.html").write_bytes(report_html(report, host="file", pages=LIBRARY).encode())
    webview = report_html(large_report(16, 5), host="webview", nonce="bm9uY2Utb2YtYS10ZXN0", pages=LIBRARY)
    (folder / "webview.html").write_bytes(webview.encode())
    done = subprocess.run([NODE, ROOT / "tests" / "render" / "view.mjs", folder, BROWSER], capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_nothing_runs_loads_or_is_refused(seen):
    """No dialog, no request, no error, and no message of a content policy that stopped something."""
    assert seen["problems"] == []
    assert seen["images"] == 0


def test_a_hostile_line_is_told_and_copied_as_text(seen):
    shown = HOSTILE.replace("\x00", "\N{REPLACEMENT CHARACTER}").replace("\x1b", "\N{REPLACEMENT CHARACTER}")
    assert "<img src=x onerror=alert(1)>" in seen["hostileTip"]
    assert seen["hostileCommand"] == shown
    # The Markdown comes from data, where no character needs a replacement; browsers end clipboard text at a NUL or keep it.
    assert seen["hostileMarkdown"].split("\x00")[0] == report_markdown(hostile_report()).split("\x00")[0]


def test_buttons_of_a_file_copy(seen, small):
    first = small.incidents[0].evidence[0]
    assert seen["place"] == f"{first.file}:{first.line}"
    assert seen["placeSaid"].startswith("Copied")
    assert seen["explain"] == f"firstfault explain {small.incidents[0].related[0]}"
    assert "host-1" in seen["redacted"] and "node01" not in seen["redacted"]
    assert seen["pageOpen"]


def test_the_plot_is_walked_by_keys_and_says_each_mark(seen):
    assert "rank 5" in seen["first"] and "step 30" in seen["first"]
    assert "rank 6" in seen["next"] and seen["next"] != seen["first"]
    assert seen["enter"] and seen["enter"].rsplit(":", 1)[0] in seen["next"]
    assert seen["gone"] and seen["left"]


@pytest.mark.parametrize(("scheme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 28)")])
def test_text_is_readable_in_light_and_dark(seen, scheme, background):
    assert seen[f"background-{scheme}"] == background
    assert seen[f"contrast-{scheme}"]["ratio"] >= 4.5, seen[f"contrast-{scheme}"]


@pytest.mark.parametrize("width", [400, 320])
def test_nothing_is_cut_off_in_a_narrow_window(seen, width):
    assert seen[f"clipped-{width}"] == {"wide": width, "out": []}


def test_the_plot_is_painted_in_forced_colours(seen):
    assert seen["forced"] > 4


def test_a_thousand_ranks_are_grouped_unfolded_and_scrolled(seen):
    assert seen["heightGrouped"] < 200
    assert "1,015 marks of 1,015 ranks (0–71, 80–516, 518–1023)" in seen["grouped"]
    assert seen["unfolded"]
    assert "rank 517" in seen["each"] and "rank 532" in seen["eachNext"]
    assert seen["frames"] < 250
    assert seen["fit"] and seen["zoomed"] and seen["back"]


def test_the_webview_sends_its_messages_and_wears_the_theme(seen):
    assert seen["webviewBackground"] == "rgb(1, 2, 3)"
    fix = large_report(16, 5).incidents[0].fix[0].setting
    kinds = [m["type"] for m in seen["sent"]]
    assert kinds == ["open", "copy", "run", "applyFix", "explain", "open"]
    opened, _, run, applied, explained, by_key = seen["sent"]
    assert opened == {"type": "open", "file": "logs/rank_0.log", "line": 431}
    assert run["command"] == large_report(16, 5).incidents[0].verify[0].command
    assert applied["setting"] == {"kind": fix.kind, "name": fix.name, "value": fix.value, "why": fix.why}
    assert explained == {"type": "explain", "id": explained["id"]} and explained["id"] in LIBRARY.pages
    assert by_key == {"type": "open", "file": "logs/rank_5.log", "line": 400}
