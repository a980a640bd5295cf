"""Turns the edits of a launch file into those an editor takes. Knows no setting and no launch file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from ..launch import TextEdit
from .documents import Document
from .positions import UTF32, LineIndex
from .session import Session, path_key

ANNOTATION = "firstfault"


@dataclass(frozen=True, slots=True)
class Change:
    """The edits of one text: what they do in a few words, and what there is to say besides, such as their cost."""

    uri: str
    text: str
    edits: Sequence[TextEdit]
    label: str
    description: str = ""


def workspace_edit(session: Session, change: Change) -> types.WorkspaceEdit:
    """A change in the form the editor knows; in a file that is not open it asks for confirmation where the editor can."""
    client = session.client
    document = session.documents.find(change.uri)
    edits = text_edits(change.text, change.edits, client.encoding, lone_cr_ends=client.lone_cr_ends_line)
    if not client.document_changes:
        return types.WorkspaceEdit(changes={change.uri: edits})
    identifier = types.OptionalVersionedTextDocumentIdentifier(change.uri, document.version if document else None)
    if not client.annotated_edits:
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
    annotated = [types.AnnotatedTextEdit(ANNOTATION, e.range, e.new_text) for e in edits]
    note = types.ChangeAnnotation(change.label, needs_confirmation=document is None, description=change.description or None)
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(identifier, list(annotated))],
        change_annotations={ANNOTATION: note},
    )


def text_edits(text: str, edits: Sequence[TextEdit], encoding: str, *, lone_cr_ends: bool) -> list[types.TextEdit]:
    """Edits by code points as edits by the position encoding, counted in lines as the editor does."""
    ours = LineIndex(text)
    theirs = ours if lone_cr_ends else LineIndex(text, lone_cr_ends=False)

    def position(line: int, column: int) -> types.Position:
        return types.Position(*theirs.position(ours.offset(line, column, UTF32), encoding))

    return [types.TextEdit(types.Range(position(e.start_line, e.start_col), position(e.end_line, e.end_col)), e.new_text) for e in edits]


def document_at(session: Session, path: str) -> Document | None:
    """The open document of a file."""
    wanted = path_key(path)
    return next((d for d in session.documents.opened() if (found := to_fs_path(d.uri)) and path_key(found) == wanted), None)


def uri_of(session: Session, path: str) -> str:
    """The URI of a file, spelled as the editor spells it where the file is open."""
    document = document_at(session, path)
    return document.uri if document else from_fs_path(path) or path
