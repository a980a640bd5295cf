"""Conversions between report lines, editor lines and the three position encodings."""

from __future__ import annotations

import random

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec, ServerTextPosition

from firstfault.lsp.positions import UTF8, UTF16, UTF32, LineIndex, LineMap, characters_before, place, units_of

ENCODINGS = (UTF8, UTF16, UTF32)


@pytest.mark.parametrize(("encoding", "units"), [(UTF8, 5), (UTF16, 3), (UTF32, 2)])
def test_an_emoji_takes_the_units_of_its_encoding(encoding: str, units: int) -> None:
    assert units_of("🔥a", encoding) == units


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_unit_maps_back_to_the_character_that_holds_it(encoding: str) -> None:
    text = "é🔥→x\ud800y𝟘"
    for index in range(len(text) + 1):
        assert characters_before(text, units_of(text[:index], encoding), encoding) == index


def test_a_unit_inside_a_surrogate_pair_rounds_down() -> None:
    assert characters_before("🔥a", 1, UTF16) == 0
    assert characters_before("🔥a", 2, UTF16) == 1
    assert characters_before("é", 1, UTF8) == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_units_behind_the_line_give_its_end(encoding: str) -> None:
    assert characters_before("🔥ab", 99, encoding) == 3


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_units_agree_with_the_codec_of_the_protocol_library(encoding: str) -> None:
    codec = PositionCodec(types.PositionEncodingKind(encoding))
    line = "[rank3]: 🔥 naïve → step 4𝟙7 done"
    for index in range(len(line) + 1):
        expected = codec.position_to_client_units([line], ServerTextPosition(0, index)).character
        assert units_of(line[:index], encoding) == expected


def test_a_lone_carriage_return_starts_an_editor_line_but_no_report_line() -> None:
    text = "a\n 0%|\r50%|\r100%|done\nb\r\nc"
    index = LineIndex(text)
    assert [index.line(n) for n in range(index.count)] == ["a", " 0%|", "50%|", "100%|done", "b", "c"]
    assert index.map.editor_line(1) == 0
    assert index.map.editor_line(2) == 1
    assert index.map.editor_line(3) == 4
    assert index.map.editor_line(4) == 5
    assert index.map.report_line(3) == (2, 2)
    assert index.map.report_line(4) == (3, 0)
    assert index.raw(2) == " 0%|\r50%|\r100%|done"
    assert index.raw(3) == "b"
    assert index.raw(9) is None


def test_a_column_behind_a_carriage_return_lands_on_the_later_editor_line() -> None:
    text = "x\n0%|🔥\rRuntimeError: 🔥 boom\n"
    raw = "0%|🔥\rRuntimeError: 🔥 boom"
    column = raw.index("boom") + 1
    assert place(LineMap.of(text), 2, raw, column, UTF16) == (2, len("RuntimeError: 🔥 ") + 1)
    assert place(LineMap.of(text), 2, raw, 1, UTF16) == (1, 0)


def test_crlf_counts_once_and_is_no_part_of_a_line() -> None:
    index = LineIndex("a\r\nbc\r\n")
    assert [index.line(n) for n in range(index.count)] == ["a", "bc", ""]
    assert index.raw(2) == "bc"
    assert index.map.plain


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_other_separators_do_not_end_a_line(separator: str) -> None:
    index = LineIndex(f"one{separator}two\nthree")
    assert index.count == 2
    assert index.line(0) == f"one{separator}two"
    assert index.position(index.text.index("two"), UTF16) == (0, 4)


def test_an_editor_that_shows_carriage_returns_counts_newlines_only() -> None:
    index = LineIndex("0%|\r50%|\nb\r\nc", lone_cr_ends=False)
    assert [index.line(n) for n in range(index.count)] == ["0%|\r50%|", "b", "c"]
    assert index.map.editor_line(2) == 1


def test_offsets_inside_a_line_end_give_the_end_of_the_line() -> None:
    index = LineIndex("ab\r\ncd")
    assert index.position(3, UTF16) == (0, 2)
    assert index.position(4, UTF16) == (1, 0)
    assert index.offset(7, 0, UTF16) == 6
    assert index.offset(-1, 0, UTF16) == 0


def test_maps_of_text_and_of_bytes_agree_with_a_plain_count() -> None:
    """Random mixtures of line ends, checked against a slow count of both kinds of line."""
    source = random.Random(7)
    for _ in range(300):
        text = "".join(source.choice(["a", "é", "🔥", "\n", "\r", "\r\n", "\r\r\n", "\n\r"]) for _ in range(source.randrange(30)))
        line_map, byte_map = LineMap.of(text), LineMap.of(text.encode())
        index = LineIndex(text)
        for number in range(text.count("\n") + 1):
            start = _start_of_report_line(text, number)
            editor_line = _editor_line_at(text, start)
            assert line_map.editor_line(number + 1) == byte_map.editor_line(number + 1) == editor_line, (text, number)
            assert line_map.report_line(editor_line)[0] == number + 1, (text, number)
        for offset in range(len(text) + 1):
            line, units = index.position(offset, UTF16)
            assert line == _editor_line_at(text, offset)
            if text[offset - 1 : offset + 1] != "\r\n":
                assert index.offset(line, units, UTF16) == offset


def _start_of_report_line(text: str, number: int) -> int:
    offset = 0
    for _ in range(number):
        offset = text.index("\n", offset) + 1
    return offset


def _editor_line_at(text: str, offset: int) -> int:
    """Line ends that are complete before `offset`; a newline that completes a carriage return is no second one."""
    before = text[:offset]
    ends = before.count("\n") + before.count("\r") - before.count("\r\n")
    if before.endswith("\r") and text[offset : offset + 1] == "\n":
        ends -= 1
    return ends
