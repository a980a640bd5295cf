"""Asks the client, once it runs, to tell of what the server follows. Knows nothing of what becomes of it."""

from __future__ import annotations

import logging
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)


async def follow_configuration(server: LanguageServer, section: str) -> None:
    """Changes of the user's settings."""
    await _ask(server, types.WORKSPACE_DID_CHANGE_CONFIGURATION, types.DidChangeConfigurationRegistrationOptions(section=section))


async def follow_deletions(server: LanguageServer) -> None:
    """Files of the workspace that are deleted: any of them may have been diagnosed."""
    watcher = types.FileSystemWatcher("**/*", types.WatchKind.Delete)
    await _ask(server, types.WORKSPACE_DID_CHANGE_WATCHED_FILES, types.DidChangeWatchedFilesRegistrationOptions([watcher]))


async def _ask(server: LanguageServer, method: str, options: Any) -> None:
    registration = types.Registration(f"firstfault-{method}", method, options)
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except Exception as error:  # It may still tell unasked.
        logger.debug("%s is not told: %s", method, error)
