"""A test editor: a pytest-lsp client that remembers what the server sends and can wait for it. Two profiles."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES

from firstfault.lsp.protocol import make_converter

FAKE_SERVER = [sys.executable, str(Path(__file__).parent / "fake_server.py")]
REAL_SERVER = [sys.executable, "-I", "-X", "utf8", str(Path(__file__).parents[2] / "server" / "main.py")]
PATIENCE_S = 60
# What each client has open, so that no test finds the documents of another.
OPENED: dict[int, set[str]] = {}
_names = itertools.count(1)


class Editor(LanguageClient):
    """A client that keeps every diagnostic set, status and refresh in the order of arrival."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(converter_factory=make_converter, **kwargs)
        self.server_capabilities_seen = types.ServerCapabilities()
        self.published: list[types.PublishDiagnosticsParams] = []
        self.statuses: list[dict[str, Any]] = []
        self.watched: list[dict[str, Any]] = []
        self.refreshes: list[str] = []
        self.registrations: list[str] = []
        self.changed = asyncio.Condition()
        for method, function in DEFAULT_CLIENT_FEATURES.items():
            if method not in (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, types.WORKSPACE_DIAGNOSTIC_REFRESH):
                self.feature(method)(function)

        async def note(store: list[Any], value: Any) -> None:
            store.append(value)
            async with self.changed:
                self.changed.notify_all()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def on_publish(params: types.PublishDiagnosticsParams) -> None:
            await note(self.published, params)

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        async def on_register(params: types.RegistrationParams) -> None:
            self.registrations.extend(r.method for r in params.registrations)
            async with self.changed:
                self.changed.notify_all()

        @self.feature("firstfault/watched")
        async def on_watched(params: dict[str, Any]) -> None:
            await note(self.watched, params)

        @self.feature("firstfault/status")
        async def on_status(params: dict[str, Any]) -> None:
            await note(self.statuses, params)

        for method in (types.WORKSPACE_DIAGNOSTIC_REFRESH, types.WORKSPACE_CODE_LENS_REFRESH, types.WORKSPACE_INLAY_HINT_REFRESH):

            @self.feature(method)
            async def on_refresh(_: Any, method: str = method) -> None:
                await note(self.refreshes, method)

    async def initialize_session(self, params: types.InitializeParams) -> types.InitializeResult:
        result = await super().initialize_session(params)
        self.server_capabilities_seen = result.capabilities
        return result

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Wait until `condition` is true of what has arrived, and return its value."""
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(condition), PATIENCE_S)
        return condition()

    async def diagnostics_for(self, uri: str, version: int | None = None) -> list[types.Diagnostic]:
        """The newest published diagnostics of a URI, of a version when one is given."""

        def found() -> types.PublishDiagnosticsParams | None:
            return next((p for p in reversed(self.published) if p.uri == uri and (version is None or p.version == version)), None)

        return list((await self.until(found)).diagnostics)

    def open(self, text: str, uri: str | None = None, language: str = "log", version: int = 1) -> str:
        """Open a document and return its URI; without one it gets a name of its own."""
        uri = uri or f"file:///nowhere/run-{next(_names)}.log"
        self.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, version, text)))
        OPENED.setdefault(id(self), set()).add(uri)
        return uri

    def change(self, uri: str, version: int, *edits: tuple[tuple[int, int], tuple[int, int], str]) -> None:
        """Send edits ((line, character), (line, character), text) as one change."""
        changes = [
            types.TextDocumentContentChangePartial(types.Range(types.Position(*a), types.Position(*b)), text) for a, b, text in edits
        ]
        self.text_document_did_change(types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version, uri), list(changes)))

    def close_document(self, uri: str) -> None:
        OPENED.get(id(self), set()).discard(uri)
        self.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def pull(self, uri: str, previous: str | None = None) -> Any:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
        return await asyncio.wait_for(self.text_document_diagnostic_async(params), PATIENCE_S)

    async def ask(self, method: str, params: Any) -> Any:
        """Send one of the project's own requests and return its plain result."""
        return await asyncio.wait_for(self.protocol.send_request_async(method, params), PATIENCE_S)

    async def ask_raw(self, method: str, params: Any) -> Any:
        """Send a request that the protocol library would refuse to build."""
        msg_id = f"raw-{next(_names)}"
        future: Future[Any] = Future()
        self.protocol._request_futures[msg_id] = future
        self.protocol._result_types[msg_id] = None
        self.protocol._send_data({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        return await asyncio.wait_for(asyncio.wrap_future(future), PATIENCE_S)

    async def hover_text(self, uri: str, line: int, character: int = 0) -> str | None:
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        hover = await asyncio.wait_for(self.text_document_hover_async(params), PATIENCE_S)
        if hover is None:
            return None
        assert isinstance(hover.contents, types.MarkupContent)
        return hover.contents.value

    async def actions(self, uri: str, diagnostics: list[types.Diagnostic], at: types.Range | None = None) -> list[Any]:
        """The code actions at a place. Read here, because the protocol library takes every action with a command for a bare command."""
        at = at or (diagnostics[0].range if diagnostics else types.Range(types.Position(0, 0), types.Position(0, 0)))
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), at, types.CodeActionContext(diagnostics))
        converter = self.protocol._converter
        found = await self.ask_raw(types.TEXT_DOCUMENT_CODE_ACTION, converter.unstructure(params))
        return [converter.structure(a, types.Command if isinstance(a.get("command"), str) else types.CodeAction) for a in found or []]


def make_editor() -> Editor:
    return Editor()


def full_profile(encodings: tuple[types.PositionEncodingKind, ...] = (types.PositionEncodingKind.Utf16,)) -> types.ClientCapabilities:
    """What VS Code announces today: pull diagnostics, position encodings, annotated edits, resolved code actions, refreshes."""
    found = client_capabilities("visual-studio-code")
    assert found.general and found.text_document and found.workspace and found.text_document.code_action
    found.general.position_encodings = list(encodings)
    found.text_document.diagnostic = types.DiagnosticClientCapabilities(dynamic_registration=True, related_document_support=False)
    found.text_document.inlay_hint = types.InlayHintClientCapabilities(
        dynamic_registration=True,
        resolve_support=types.ClientInlayHintResolveOptions(["tooltip", "textEdits", "label.tooltip", "label.location", "label.command"]),
    )
    found.text_document.code_action.honors_change_annotations = True
    found.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    found.workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    return found


def minimal_profile() -> types.ClientCapabilities:
    """What Neovim 0.7 announces, less code action resolution, as in eglot 1.9: pushed diagnostics, no encodings, no annotations."""
    found = client_capabilities("neovim@v0.7.0")
    assert found.text_document and found.text_document.code_action
    found.text_document.code_action.resolve_support = None
    return found


def full_params(
    folders: list[Path], encodings: tuple[types.PositionEncodingKind, ...] = (types.PositionEncodingKind.Utf16,)
) -> types.InitializeParams:
    return types.InitializeParams(
        capabilities=full_profile(encodings),
        client_info=types.ClientInfo("Visual Studio Code", "1.108.0"),
        initialization_options={"trusted": True, "maxSyncBytes": 100_000},
        workspace_folders=[types.WorkspaceFolder(f.as_uri(), f.name) for f in folders],
    )


def minimal_params(folder: Path) -> types.InitializeParams:
    return types.InitializeParams(
        capabilities=minimal_profile(),
        client_info=types.ClientInfo("Neovim", "0.7.2"),
        root_uri=folder.as_uri(),
        root_path=str(folder),
    )
