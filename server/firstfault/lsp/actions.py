"""Code actions from a diagnosed line: settings for launch scripts. Knows no file format and no failure.

The edit of an action is made when the action is chosen, where the editor can wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from lsprotocol import types
from pygls.uris import to_fs_path

from ..errors import FirstFaultError
from ..launch.candidates import LogHints
from ..model import Setting
from . import launching
from .analysis import Analysis
from .commands import COPY_TEXT
from .diagnostics import SOURCE
from .edits import Change, document_at, uri_of, workspace_edit
from .jobs import StopFlag
from .launching import Launch, Offer, Withheld
from .log_facts import LogFacts, facts_of, is_slow_rank
from .protocol import RequestFailed
from .script_actions import actions_of
from .scripts import outlook_of
from .session import Session

QUICK_FIX = types.CodeActionKind.QuickFix


async def actions_for(session: Session, launch: Launch, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    """The actions for a place in a log or in a launch script."""
    uri, only = params.text_document.uri, params.context.only
    ours = [d for d in params.context.diagnostics if d.source == SOURCE]
    script = await outlook_of(session, launch, uri)
    if script is not None:
        return actions_of(session, *script, ours, lambda kind: wanted(kind, only))
    if ours and wanted(QUICK_FIX.value, only):
        return await for_diagnostics(session, launch, uri, ours)
    return []


async def resolve(session: Session, launch: Launch, action: types.CodeAction) -> types.CodeAction:
    """An action with its edit. Raises RequestFailed when the file changed so that nothing is left to do."""
    data = action.data
    if not isinstance(data, Mapping) or not isinstance(data.get("path"), str) or not isinstance(data.get("setting"), Mapping):
        return action
    setting = Setting(**{k: str(data["setting"].get(k, "")) for k in ("kind", "name", "value", "why")})
    path = data["path"]
    document = document_at(session, path)
    text = document.text if document else None
    offer = await session.workers.run(lambda _: launching.offer_of(launch, setting, path, text), StopFlag(), long=False)
    if offer is None or not offer.edits:
        reason = launching.why_nothing(offer, setting) if offer else "the file cannot be read"
        raise RequestFailed(str(FirstFaultError("nothing to change", reason=reason, where=path, help="open the file and look")))
    action.edit = edit_of(session, offer)
    return action


def open_texts(session: Session) -> dict[str, str]:
    """The open documents that are no logs, by path."""
    return {path: d.text for d in session.documents.opened() if not d.is_log and (path := to_fs_path(d.uri)) is not None}


def edit_of(session: Session, offer: Offer) -> types.WorkspaceEdit:
    """The edit of an offer in the form the editor knows."""
    label, description = launching.title_of(offer.setting), launching.described(offer.setting)
    return workspace_edit(
        session, Change(uri_of(session, offer.path), offer.text, offer.edits, label, description or os.path.basename(offer.path))
    )


async def offers_for(session: Session, launch: Launch, settings: Sequence[Setting], hints: LogHints) -> list[Offer]:
    """What settings would change in the launch files of the workspace."""
    folders, texts = session.documents.folder_paths(), open_texts(session)
    return await session.workers.run(lambda _: launching.offers(launch, settings, folders, hints, texts), StopFlag(), long=False)


async def log_facts(session: Session, analysis: Analysis | None) -> LogFacts:
    """What a log says of its launch, read in a thread."""
    if analysis is None or analysis.facts is not None:
        return facts_of(analysis)
    return await session.workers.run(lambda _: facts_of(analysis), StopFlag(), long=False)


async def for_diagnostics(
    session: Session, launch: Launch, uri: str, diagnostics: Sequence[types.Diagnostic]
) -> list[types.CodeAction | types.Command]:
    """The settings that the pages of diagnosed lines offer, where they fit the version and the cause."""
    view = await session.view(uri)
    facts = await log_facts(session, view.analysis if view else None)
    settings: dict[tuple[str, str], Setting] = {}
    asked: dict[tuple[str, str], list[types.Diagnostic]] = {}
    for diagnostic in diagnostics:
        data = diagnostic.data if isinstance(diagnostic.data, Mapping) else {}
        incident = next((i for i in view.analysis.incidents if i.id == data.get("incident")), None) if view else None
        page = session.page(incident.failure if incident else str(diagnostic.code))
        slow = is_slow_rank(page)
        for offered in [*(f.setting for f in (incident.fix if incident else ()) if f.setting), *(page.settings if page else ())]:
            setting = launching.judged(offered, facts.torch_version, slow_but_living=slow)
            if isinstance(setting, Withheld):
                continue
            settings.setdefault((setting.kind, setting.name), setting)
            asked.setdefault((setting.kind, setting.name), []).append(diagnostic)
    if not settings:
        return []
    found = await offers_for(session, launch, list(settings.values()), facts.hints)
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
    client = session.client
    changing = [o for o in offers if o.edits] if client.code_action_literals else []
    if changing:
        return [_edit_action(session, offer, diagnostics) for offer in changing]
    line = launching.line_to_copy(setting)
    offer = offers[0] if offers else None
    reason = launching.why_nothing(offer, setting)
    if offer is not None and not offer.refusal:
        if client.disabled_actions and client.code_action_literals:
            title = launching.title_of(setting)
            return [types.CodeAction(title, QUICK_FIX, diagnostics, disabled=types.CodeActionDisabled(reason))]
        return []
    command = types.Command(f"Copy `{line}` ({reason})", COPY_TEXT, arguments=[line])
    if not client.code_action_literals:
        return [command]
    return [types.CodeAction(command.title, QUICK_FIX, diagnostics, command=command)]


def _edit_action(session: Session, offer: Offer, diagnostics: list[types.Diagnostic]) -> types.CodeAction:
    action = types.CodeAction(launching.title_in(offer.setting, offer.path), QUICK_FIX, diagnostics)
    if session.client.resolves_edits:
        setting = offer.setting
        action.data = {
            "path": offer.path,
            "setting": {"kind": setting.kind, "name": setting.name, "value": setting.value, "why": setting.why},
        }
    else:
        action.edit = edit_of(session, offer)
    return action


def wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether an editor that asks for `only` some kinds asks for this one or one above it."""
    if only is None:
        return True
    return any(not (text := _text(o)) or kind == text or kind.startswith(text + ".") for o in only)


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind
