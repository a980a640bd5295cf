"""What the buttons of the report view do: a setting for a launch script of the workspace, or why there is none to change.

Knows no file format and no failure.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import FirstFaultError
from ..model import Setting
from . import actions, launching
from .analysis import Analysis
from .edits import document_at
from .jobs import StopFlag
from .launching import Launch, Offer, Withheld
from .log_facts import is_slow_rank
from .protocol import RequestFailed
from .reports import remembered
from .requests import absolute
from .session import Session

APPLY_FIX = "firstfault/applyFix"
_KINDS = ("env", "timeout", "flag")


async def apply_fix(session: Session, launch: Launch, params: Any) -> dict[str, Any]:
    """The edit that makes a setting hold.

    {setting, uri?, path?, paths?, text?, title?, launchFile?} gives {edit, title, path, choices, reason, line}.
    The log that the setting was offered for is named as in the other requests; its torch version and cause count.
    `launchFile` (a path or URI) names the file to edit; without it the likeliest one is, and `choices` lists all that would change.
    Without an edit, `edit` and `path` are null and `reason` says why; `line` can always be put in by hand.
    Raises RequestFailed for a request without a setting.
    """
    data = params if isinstance(params, Mapping) else {}
    wanted = _setting(data.get("setting"))
    analysis = await remembered(session, data)
    facts = await actions.log_facts(session, analysis)
    setting = launching.judged(wanted, facts.torch_version, slow_but_living=_may_be_slow(session, analysis, wanted))
    if isinstance(setting, Withheld):
        return _answer(session, wanted, [], setting.why)
    chosen = data.get("launchFile")
    if isinstance(chosen, str) and chosen:
        path = absolute(session, chosen)
        document = document_at(session, path)
        text = document.text if document else None
        offer = await session.workers.run(lambda _: launching.offer_of(launch, setting, path, text), StopFlag(), long=False)
        found = [offer] if offer else []
        reason = launching.why_nothing(offer, setting) if offer else f"{os.path.basename(path)} cannot be read or is no script"
    else:
        found = await actions.offers_for(session, launch, [setting], facts.hints)
        reason = launching.why_nothing(found[0] if found else None, setting)
    return _answer(session, setting, [o for o in found if o.edits], reason)


def _answer(session: Session, setting: Setting, offers: list[Offer], reason: str) -> dict[str, Any]:
    first = offers[0] if offers else None
    return {
        "edit": actions.edit_of(session, first) if first else None,
        "title": launching.title_in(setting, first.path) if first else launching.title_of(setting),
        "path": first.path if first else None,
        "choices": [{"path": o.path, "title": launching.title_in(setting, o.path)} for o in offers],
        "reason": "" if first else reason,
        "line": launching.line_to_copy(setting),
    }


def _may_be_slow(session: Session, analysis: Analysis | None, setting: Setting) -> bool:
    """Whether the cause for which a setting was offered is a slow rank; where no log is known the person who asks decides."""
    if analysis is None or not analysis.incidents:
        return True
    offering = [
        i
        for i in analysis.incidents
        if any(f.setting == setting for f in i.fix) or ((page := session.page(i.failure)) and setting in page.settings)
    ]
    return any(is_slow_rank(session.page(i.failure)) for i in offering or analysis.incidents)


def _setting(given: Any) -> Setting:
    """The setting of a request. Raises RequestFailed."""
    if isinstance(given, Mapping) and given.get("kind") in _KINDS and isinstance(given.get("name"), str) and given["name"]:
        value, why = given.get("value", ""), given.get("why", "")
        if isinstance(value, str) and (why is None or isinstance(why, str)):
            return Setting(given["kind"], given["name"], value, why or "")
    error = FirstFaultError(
        "no setting to apply",
        reason=f"the request names no setting with kind ({', '.join(_KINDS)}), name and value",
        help="send the setting as the report holds it",
    )
    raise RequestFailed(str(error))
