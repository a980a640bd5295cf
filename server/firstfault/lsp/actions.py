"""Code actions: settings for launch scripts, from a diagnosed line or inside a script. Knows no file format and no failure.

The edit of an action is made when the action is chosen, where the editor can wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from ..errors import FirstFaultError
from ..launch import TextEdit
from ..model import Setting
from . import launching
from .commands import COPY_TEXT
from .diagnostics import SOURCE
from .documents import Document
from .jobs import StopFlag
from .launching import Launch, Offer
from .positions import LineIndex, units_of
from .protocol import RequestFailed
from .session import Session

REFACTOR = types.CodeActionKind.RefactorRewrite
QUICK_FIX = types.CodeActionKind.QuickFix
ANNOTATION = "firstfault"


async def actions_for(session: Session, launch: Launch, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    """The actions for a place in a log or in a launch script."""
    document = session.documents.find(params.text_document.uri)
    ours = [d for d in params.context.diagnostics if d.source == SOURCE]
    if ours and _wanted(QUICK_FIX, params.context.only):
        return await _for_diagnostics(session, launch, params.text_document.uri, ours)
    if document is not None and not document.is_log and _wanted(REFACTOR, params.context.only):
        return await _for_script(session, launch, document)
    return []


async def resolve(session: Session, launch: Launch, action: types.CodeAction) -> types.CodeAction:
    """An action with its edit. Raises RequestFailed when the file changed so that nothing is left to do."""
    data = action.data
    if not isinstance(data, Mapping) or not isinstance(data.get("path"), str) or not isinstance(data.get("setting"), Mapping):
        return action
    setting = Setting(**{k: str(data["setting"].get(k, "")) for k in ("kind", "name", "value", "why")})
    path = data["path"]
    texts = open_texts(session)
    offer = await session.workers.run(lambda _: launching.offer_of(launch, setting, path, texts.get(path)), StopFlag(), long=False)
    if offer is None or not offer.edits:
        reason = (offer.refusal if offer else "") or f"{setting.name} is set already"
        raise RequestFailed(str(FirstFaultError("nothing to change", reason=reason, where=path, help="open the file and look")))
    action.edit = workspace_edit(session, offer)
    return action


def open_texts(session: Session) -> dict[str, str]:
    """The open documents that are no logs, by path."""
    return {path: d.text for d in session.documents.opened() if not d.is_log and (path := to_fs_path(d.uri)) is not None}


def workspace_edit(session: Session, offer: Offer) -> types.WorkspaceEdit:
    """The edit of an offer in the form the editor knows; in a file that is not open it asks for confirmation where it can."""
    client = session.client
    document = next((d for d in session.documents.opened() if to_fs_path(d.uri) == offer.path), None)
    uri = document.uri if document else from_fs_path(offer.path) or offer.path
    index = LineIndex(offer.text, lone_cr_ends=True)
    edits = [_text_edit(index, edit, client.encoding) for edit in offer.edits]
    if not client.document_changes:
        return types.WorkspaceEdit(changes={uri: edits})
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri, document.version if document else None)
    if not client.annotated_edits:
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, edits)])
    annotated = [types.AnnotatedTextEdit(ANNOTATION, e.range, e.new_text) for e in edits]
    note = types.ChangeAnnotation(
        launching.title_of(offer.setting),
        needs_confirmation=document is None,
        description=offer.setting.why or os.path.basename(offer.path),
    )
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(identifier, list(annotated))],
        change_annotations={ANNOTATION: note},
    )


async def _for_diagnostics(
    session: Session, launch: Launch, uri: str, diagnostics: Sequence[types.Diagnostic]
) -> list[types.CodeAction | types.Command]:
    view = await session.view(uri)
    settings: dict[tuple[str, str], Setting] = {}
    asked: dict[tuple[str, str], list[types.Diagnostic]] = {}
    for diagnostic in diagnostics:
        data = diagnostic.data if isinstance(diagnostic.data, Mapping) else {}
        incident = next((i for i in view.analysis.incidents if i.id == data.get("incident")), None) if view else None
        failure = incident.failure if incident else str(diagnostic.code)
        page = session.page(failure)
        offered = [f.setting for f in incident.fix if f.setting] if incident else []
        for setting in [*offered, *(page.settings if page else ())]:
            settings.setdefault((setting.kind, setting.name), setting)
            asked.setdefault((setting.kind, setting.name), []).append(diagnostic)
    if not settings:
        return []
    folders, texts = session.documents.folder_paths(), open_texts(session)
    document = session.documents.find(uri)
    log = document.text if document else ""
    found = await session.workers.run(
        lambda _: launching.offers(launch, list(settings.values()), folders, log, texts), StopFlag(), long=False
    )
    out: list[types.CodeAction | types.Command] = []
    for key, setting in settings.items():
        offers = [o for o in found if (o.setting.kind, o.setting.name) == key]
        out += _offered(session, setting, offers, asked[key])
    preferred = next((a for a in out if isinstance(a, types.CodeAction) and not a.disabled and not a.command), None)
    if preferred is not None and session.client.preferred_actions:
        preferred.is_preferred = True
    return out


def _offered(
    session: Session, setting: Setting, offers: Sequence[Offer], diagnostics: list[types.Diagnostic]
) -> list[types.CodeAction | types.Command]:
    """The actions of one setting: an edit a file, else why there is none, and a line to copy."""
    title = launching.title_of(setting)
    out: list[types.CodeAction | types.Command] = []
    for offer in offers:
        if offer.edits and session.client.code_action_literals:
            out.append(_edit_action(session, f"{title} in {os.path.basename(offer.path)}", QUICK_FIX, offer, diagnostics))
    if out:
        return out
    line = launching.line_to_copy(setting)
    if offers and not offers[0].refusal:
        reason = f"{setting.name} is set already in {os.path.basename(offers[0].path)}"
        if session.client.disabled_actions and session.client.code_action_literals:
            return [types.CodeAction(title, QUICK_FIX, diagnostics, disabled=types.CodeActionDisabled(reason))]
        return []
    reason = f"{os.path.basename(offers[0].path)}: {offers[0].refusal}" if offers else "no launch script in the workspace"
    command = types.Command(f"Copy `{line}` ({reason})", COPY_TEXT, arguments=[line])
    if not session.client.code_action_literals:
        return [command]
    return [types.CodeAction(command.title, QUICK_FIX, diagnostics, command=command)]


async def _for_script(session: Session, launch: Launch, document: Document) -> list[types.CodeAction | types.Command]:
    path, text = to_fs_path(document.uri), document.text
    if path is None or len(text) > launching.LARGEST_SCRIPT_BYTES or not session.client.code_action_literals:
        return []
    settings = common_settings(session)

    def work(_: StopFlag) -> list[Offer]:
        if not launch.is_launch_file(path, text):
            return []
        return [o for s in settings if (o := launching.offer_of(launch, s, path, text)) is not None and o.edits]

    found = await session.workers.run(work, StopFlag(), long=False)
    return [_edit_action(session, f"{launching.title_of(o.setting)} (FirstFault)", REFACTOR, o, None) for o in found]


def common_settings(session: Session) -> list[Setting]:
    """The settings that most pages offer, at most four: what helps before the cause is known."""
    library = session.library()
    counted: dict[tuple[str, str], tuple[int, Setting]] = {}
    for page in library.pages.values() if library else ():
        for setting in page.settings:
            count, first = counted.get((setting.kind, setting.name), (0, setting))
            counted[setting.kind, setting.name] = (count + 1, first)
    return [setting for _, setting in sorted(counted.values(), key=lambda c: (-c[0], c[1].name))[:4]]


def _edit_action(
    session: Session, title: str, kind: types.CodeActionKind, offer: Offer, diagnostics: list[types.Diagnostic] | None
) -> types.CodeAction:
    action = types.CodeAction(title, kind, diagnostics)
    if session.client.resolves_edits:
        setting = offer.setting
        action.data = {
            "path": offer.path,
            "setting": {"kind": setting.kind, "name": setting.name, "value": setting.value, "why": setting.why},
        }
    else:
        action.edit = workspace_edit(session, offer)
    return action


def _text_edit(index: LineIndex, edit: TextEdit, encoding: str) -> types.TextEdit:
    def position(line: int, column: int) -> types.Position:
        return types.Position(line, units_of(index.line(line)[:column], encoding))

    return types.TextEdit(types.Range(position(edit.start_line, edit.start_col), position(edit.end_line, edit.end_col)), edit.new_text)


def _wanted(kind: types.CodeActionKind, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether an editor that asks for `only` some kinds asks for this one or one above it."""
    if only is None:
        return True
    return any(not (text := _text(o)) or kind.value == text or kind.value.startswith(text + ".") for o in only)


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


__all__ = ["actions_for", "common_settings", "resolve", "workspace_edit"]
