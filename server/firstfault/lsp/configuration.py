"""The user's settings that the server follows, and how they reach it. Knows no feature that they switch."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)
SECTION = "firstfault"


@dataclass(slots=True)
class Configuration:
    """What the user set: `lint` (`firstfault.lint`) shows hints in launch scripts."""

    lint: bool = True

    def update(self, given: Any) -> bool:
        """Take over settings, plain or below `firstfault`; what is absent or of another type stays. Whether anything changed."""
        section = given.get(SECTION, given) if isinstance(given, Mapping) else None
        lint = section.get("lint") if isinstance(section, Mapping) else None
        if not isinstance(lint, bool) or lint == self.lint:
            return False
        self.lint = lint
        return True


async def ask(server: LanguageServer) -> Any:
    """The settings as the client holds them; None when it does not answer."""
    try:
        params = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        return next(iter(await server.workspace_configuration_async(params)), None)
    except Exception as error:  # A client that cannot tell its settings gets the defaults.
        logger.debug("no configuration: %s", error)
        return None
