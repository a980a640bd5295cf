"""Open documents: changes arrive in the units and lines of the editor."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.workspace import Workspace

from firstfault.lsp.documents import Document, Documents, is_log
from firstfault.lsp.positions import UTF16

URI = "file:///ws/slurm-81.out"


def make(text: str) -> tuple[Documents, Document]:
    documents = Documents(Workspace(None), encoding=UTF16, lone_cr_ends_line=True)
    documents.put_text_document(types.TextDocumentItem(URI, "log", 1, text))
    document = documents.find(URI)
    assert document is not None
    return documents, document


def replace(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(range=types.Range(types.Position(*start), types.Position(*end)), text=text)


def test_a_change_behind_an_emoji_lands_on_the_right_character() -> None:
    _, document = make("🔥 rank 3\nnext")
    document.apply_change(replace((0, 8), (0, 9), "7"))
    assert document.text == "🔥 rank 7\nnext"


def test_a_change_after_a_line_separator_character_lands_on_the_right_line() -> None:
    """The protocol library would count U+2028 as a line end and put the text one line too early."""
    _, document = make("a\u2028b\nc\x0cd\ne")
    document.apply_change(replace((2, 0), (2, 1), "E"))
    assert document.text == "a\u2028b\nc\x0cd\nE"


def test_lines_split_at_a_lone_carriage_return() -> None:
    _, document = make("10%|\r20%|\rdone\r\nend")
    document.apply_change(replace((2, 0), (2, 4), "DONE"))
    assert document.text == "10%|\r20%|\rDONE\r\nend"


def test_each_change_of_a_batch_sees_the_one_before() -> None:
    documents, document = make("one\ntwo\n")
    item = types.VersionedTextDocumentIdentifier(2, URI)
    documents.update_text_document(item, replace((2, 0), (2, 0), "three\n"))
    documents.update_text_document(item, replace((2, 0), (2, 5), "3"))
    assert document.text == "one\ntwo\n3\n"
    assert (document.version, document.edits) == (2, 2)


def test_positions_outside_the_document_are_cut() -> None:
    _, document = make("one")
    document.apply_change(replace((7, 0), (9, 0), "!"))
    document.apply_change(replace((0, 99), (0, 99), "?"))
    assert document.text == "one!?"


def test_a_change_of_a_document_that_is_not_open_is_ignored() -> None:
    documents, _ = make("one")
    documents.update_text_document(types.VersionedTextDocumentIdentifier(1, "file:///other"), replace((0, 0), (0, 0), "x"))
    assert documents.find("file:///other") is None


@pytest.mark.parametrize(
    ("uri", "language"),
    [
        (URI, "plaintext"),
        ("file:///a/train.log", "log"),
        ("file:///a/job.o4411", "something"),
        ("file:///a/slurm-1_2.err", "error"),
        ("file:///a/nccl.log.3", "other"),
        ("untitled:Untitled-1", "plaintext"),
    ],
)
def test_logs_are_known_by_language_or_name(uri: str, language: str) -> None:
    assert is_log(uri, language)


@pytest.mark.parametrize(
    ("uri", "language"),
    [
        ("file:///a/train.py", "python"),
        ("file:///a/run.sbatch", "shellscript"),
        ("output:extension-output-1", "log"),
        ("git:/a/x.log", "log"),
    ],
)
def test_programs_and_views_are_no_logs(uri: str, language: str) -> None:
    assert not is_log(uri, language)
