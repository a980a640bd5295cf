"""Open documents with one line index a version, and which of them are logs. Knows no diagnosis."""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

from ..launch import Kind, detect_kind
from .positions import LineIndex

# Names under which editors open logs; an empty one is how Vim names a type it does not know.
LOG_LANGUAGES = frozenset({"log", "plaintext", "text", "txt", "fundamental", "slurm-log", ""})
LOG_NAME = re.compile(
    r"(?:\.(?:log|out|err|stdout|stderr|txt)(?:\.\d+)?|\.[oe]\d+|(?:^|[-_.])(?:stdout|stderr|kmsg|dmesg))\Z", re.IGNORECASE
)
# Documents that are views of something else, not logs of a job; the server's own output among them.
NOT_LOGS = frozenset({"output", "git", "vscode", "vscode-settings", "walkthrough", "comment", "firstfault"})

# Files that an editor may take for plain text although their name or first line tells what they are.
_SCRIPT_SUFFIX = (".yaml", ".yml", ".json", ".jsonc")
# What a document of a language is called where its own name does not tell its kind.
_NAMES = {
    "shellscript": ".sh", "sh": ".sh", "bash": ".sh", "zsh": ".sh", "python": ".py", "yaml": ".yaml", "dockercompose": ".yaml",
    "dockerfile": ".dockerfile", "dotenv": ".env", "makefile": ".mk", "make": ".mk",
}  # fmt: skip

_serials = itertools.count(1)


class Document(TextDocument):
    """An open document. Its lines are split as its editor splits them and are indexed once a version."""

    def __init__(self, *args: Any, encoding: str, lone_cr_ends_line: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._encoding = encoding
        self._lone_cr_ends_line = lone_cr_ends_line
        self._index: LineIndex | None = None
        self._kind: tuple[int, Kind | None] | None = None
        self.serial = next(_serials)
        self.edits = 0

    @property
    def state(self) -> tuple[int, int]:
        """A name for the present content; editors may repeat a version, and reopen a document with the version it had."""
        return self.serial, self.edits

    @property
    def index(self) -> LineIndex:
        """The line index of the present content."""
        if self._index is None:
            self._index = LineIndex(self._source or "", lone_cr_ends=self._lone_cr_ends_line)
        return self._index

    def index_of(self, text: str) -> LineIndex:
        """The line index of a content this document has or had; may be called from a worker thread."""
        index = self._index
        return index if index is not None and index.text is text else LineIndex(text, lone_cr_ends=self._lone_cr_ends_line)

    @property
    def text(self) -> str:
        """The present content, never read from disk."""
        return self._source or ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends."""
        index = self.index
        return tuple(index.line(n) for n in range(index.count))

    @property
    def is_log(self) -> bool:
        """Whether this looks like the log of a job, by its language and its name.

        A batch script that its editor takes for plain text is none.
        """
        if not is_log(self.uri, self.language_id):
            return False
        return self.language_id == "log" or LOG_NAME.search(_name(self.uri)) is not None or not self._is_script_by_itself

    @property
    def script_path(self) -> str:
        """The path of this document, or a name that tells what kind of script its language makes it."""
        path = to_fs_path(self.uri) or _name(self.uri)
        suffix = _NAMES.get((self.language_id or "").lower(), "")
        return path if not suffix or detect_kind(path, self.text) is not None else path + suffix

    @property
    def launch_kind(self) -> Kind | None:
        """What kind of launch file this is, by name, language and content; None: not one."""
        if self._kind is None or self._kind[0] != self.edits:
            self._kind = (self.edits, detect_kind(self.script_path, self.text))
        return self._kind[1]

    @property
    def _is_script_by_itself(self) -> bool:
        path = to_fs_path(self.uri) or _name(self.uri)
        # A log may print the script it was started with, so only a first line or a name counts.
        named = detect_kind(path, "") is not None or path.endswith(_SCRIPT_SUFFIX) or self.text.startswith("#!")
        return named and self.launch_kind is not None

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply one change. Positions outside the document are cut to it, so that no change is ever refused."""
        text = self.text
        if isinstance(change, types.TextDocumentContentChangePartial):
            index = self.index
            start = index.offset(change.range.start.line, change.range.start.character, self._encoding)
            end = index.offset(change.range.end.line, change.range.end.character, self._encoding)
            self._source = text[: min(start, end)] + change.text + text[max(start, end) :]
        else:
            self._source = change.text
        self._index = None
        self.edits += 1


class Documents(Workspace):
    """The workspace of the protocol library, with documents of the kind above."""

    def __init__(self, old: Workspace, *, encoding: str, lone_cr_ends_line: bool) -> None:
        """Take over the folders of `old`, which the protocol library made during `initialize`."""
        super().__init__(old.root_uri, types.TextDocumentSyncKind.Incremental, list(old.folders.values()), old.position_encoding)
        self._encoding = encoding
        self._lone_cr_ends_line = lone_cr_ends_line

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> Document:
        return Document(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=types.TextDocumentSyncKind.Incremental,
            position_codec=self.position_codec,
            encoding=self._encoding,
            lone_cr_ends_line=self._lone_cr_ends_line,
        )

    def update_text_document(self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change; one for a document that is not open is ignored."""
        if self.find(text_doc.uri) is not None:
            super().update_text_document(text_doc, change)

    def find(self, uri: str) -> Document | None:
        """The open document of a URI; None when it is not open."""
        document = self.get_text_document(uri)
        return document if isinstance(document, Document) and document._source is not None else None

    def opened(self) -> list[Document]:
        """Every open document."""
        return [d for d in self.text_documents.values() if isinstance(d, Document)]

    def folder_paths(self) -> list[str]:
        """The workspace folders on disk, in the order of the editor."""
        roots = [to_fs_path(folder.uri) for folder in self.folders.values()]
        if not roots and self.root_uri:
            roots = [to_fs_path(self.root_uri)]
        return [root for root in roots if root and os.path.isdir(root)]


def is_log(uri: str, language: str | None) -> bool:
    """Whether a document is the log of a job: a log or plain-text language, or a name such as `slurm-81.out`."""
    scheme = uri.partition(":")[0].lower()
    if scheme in NOT_LOGS:
        return False
    return (language or "").lower() in LOG_LANGUAGES or LOG_NAME.search(_name(uri)) is not None


def _name(uri: str) -> str:
    return uri.rpartition("/")[2].rpartition(":")[2]
