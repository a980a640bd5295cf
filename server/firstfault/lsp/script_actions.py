"""Hints and code actions in a launch script, in the form of the protocol. Knows no setting and no file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types

from ..launch import TextEdit
from ..launch.lint import LintHint
from .client import Client
from .diagnostics import SOURCE
from .documents import Document
from .edits import Change, text_edits, workspace_edit
from .scripts import Outlook
from .session import Session

FIX_ALL = "source.fixAll.firstfault"
REFACTOR = types.CodeActionKind.RefactorRewrite
QUICK_FIX = types.CodeActionKind.QuickFix

Wanted = Callable[[str], bool]


def diagnostics_of(document: Document, outlook: Outlook, client: Client) -> list[types.Diagnostic]:
    """The hints of a script: faint where the script does the same without, an information where something does not work as written."""
    return [_diagnostic(document, hint, client) for hint in outlook.hints]


def actions_of(
    session: Session, document: Document, outlook: Outlook, diagnostics: Sequence[types.Diagnostic], wanted: Wanted
) -> list[types.CodeAction | types.Command]:
    """The quick fixes of the hints in `diagnostics`, the refactorings and "fix all", of the kinds that are wanted."""
    if not session.client.code_action_literals:
        return []
    out: list[types.CodeAction | types.Command] = []
    if wanted(QUICK_FIX.value):
        out += _quick_fixes(session, document, outlook, diagnostics)
    if wanted(REFACTOR.value):
        for r in outlook.refactorings:
            if r.edits:
                out.append(types.CodeAction(r.title, REFACTOR, edit=_edit(session, document, r.edits, r.title, r.description)))
            elif session.client.disabled_actions:
                out.append(types.CodeAction(r.title, REFACTOR, disabled=types.CodeActionDisabled(r.refusal)))
    if outlook.fix_all and wanted(FIX_ALL):
        title = "Fix all hints of FirstFault that change nothing else"
        out.append(types.CodeAction(title, FIX_ALL, edit=_edit(session, document, outlook.fix_all, title, "")))
    return out


def _quick_fixes(
    session: Session, document: Document, outlook: Outlook, diagnostics: Sequence[types.Diagnostic]
) -> list[types.CodeAction | types.Command]:
    out: list[types.CodeAction | types.Command] = []
    for hint in outlook.hints:
        settled = [d for d in diagnostics if d.code == hint.code and d.range == _range(document, hint, session.client)]
        if settled and hint.edits:
            action = types.CodeAction(hint.title, QUICK_FIX, settled)
            action.edit = _edit(session, document, hint.edits, hint.title, hint.message)
            if session.client.preferred_actions:
                action.is_preferred = hint.safe
            out.append(action)
    return out


def _diagnostic(document: Document, hint: LintHint, client: Client) -> types.Diagnostic:
    diagnostic = types.Diagnostic(
        range=_range(document, hint, client),
        message=hint.message,
        severity=types.DiagnosticSeverity.Hint if hint.safe else types.DiagnosticSeverity.Information,
        code=hint.code,
        source=SOURCE,
    )
    if hint.obsolete and client.strikes_deprecated:
        diagnostic.tags = [types.DiagnosticTag.Deprecated]
    return diagnostic


def _range(document: Document, hint: LintHint, client: Client) -> types.Range:
    span = TextEdit(hint.start_line, hint.start_col, hint.end_line, hint.end_col, "")
    (placed,) = text_edits(document.text, [span], client.encoding, lone_cr_ends=client.lone_cr_ends_line)
    return placed.range


def _edit(session: Session, document: Document, edits: Sequence[TextEdit], label: str, description: str) -> types.WorkspaceEdit:
    return workspace_edit(session, Change(document.uri, document.text, edits, label, description))
