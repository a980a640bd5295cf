"""Turns the protocol on: connects each request to its function. The one place that registers features; holds none itself."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from .. import __version__
from . import (
    actions,
    commands,
    configuration,
    fixes,
    folding,
    hints,
    hover,
    lenses,
    links,
    navigation,
    outline,
    registration,
    reports,
    requests,
)
from .analysis import Analysis, View
from .diagnostics import diagnostics_of
from .engine import BundledEngine, Engine
from .launching import BundledLaunch, Launch
from .own_pages import OwnPages, is_own_page
from .protocol import FirstFaultProtocol, log_error, make_converter
from .script_actions import FIX_ALL
from .script_actions import diagnostics_of as hints_of_script
from .scripts import outlook_of
from .session import Session, path_key
from .watch import WATCH, Watches

logger = logging.getLogger(__name__)


class FirstFaultServer(LanguageServer):
    """The language server: pygls's, with errors in the log instead of in the user's face."""

    session: Session

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write an error that no request waits for to the log."""
        log_error(error, source)


def create_server(engine: Engine | None = None, launch: Launch | None = None) -> FirstFaultServer:
    """A server that is not connected yet. `engine` and `launch` stand in for the bundled ones in tests."""
    server = FirstFaultServer(
        "firstfault",
        __version__,
        text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        protocol_cls=FirstFaultProtocol,
        converter_factory=make_converter,
    )
    server.session = Session(server, engine or BundledEngine())
    _register(server, server.session, launch or BundledLaunch())
    return server


def run(engine: Engine | None = None, launch: Launch | None = None) -> int:
    """Serve over standard input and output until the client is gone. Returns the exit status.

    The protocol gets the two streams for itself: anything else that is printed goes to standard error.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Its warnings tell of cancelled requests that were answered already, which every editor sends.
    logging.getLogger("pygls").setLevel(logging.ERROR)
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    # A request passes through several threads; each hand-over waits this long at most while a worker thread computes.
    sys.setswitchinterval(0.001)
    server = create_server(engine, launch)
    try:
        server.start_io(stdin, stdout)
    finally:
        server.session.close()
    return 0


def _register(server: FirstFaultServer, session: Session, launch: Launch) -> None:
    """Connect every feature."""
    own = OwnPages(session)

    @server.feature(types.INITIALIZE)
    def on_initialize(params: types.InitializeParams) -> None:
        session.begin(params)
        own.use_folders()
        if session.client.pulls_diagnostics:
            options = types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="firstfault")
            server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull)
        kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite, FIX_ALL]
        server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds, resolve_provider=session.client.resolves_edits))(
            on_code_action
        )
        if session.client.resolves_edits:
            server.feature(types.CODE_ACTION_RESOLVE)(on_resolve)
        if not session.client.own_client:
            for name, command in (
                (lenses.SHOW_REPORT, commands.show_report),
                (lenses.GO_TO_FIRST_FAULT, commands.go_to_first_fault),
                (commands.COPY_TEXT, commands.copy_text),
            ):
                server.command(name)(_with_session(session, command))

    @server.feature(types.INITIALIZED)
    async def on_initialized(_: types.InitializedParams) -> None:
        session.warm_up()
        session.on_diagnosed = on_diagnosed
        if session.client.watches_files:
            await registration.follow_deletions(server)
        if session.client.follows_configuration:
            await registration.follow_configuration(server, configuration.SECTION)
        if session.client.tells_configuration:
            await configured(await configuration.ask(server))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def on_configuration(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        await configured(await configuration.ask(server) if not given and session.client.tells_configuration else given)

    async def configured(given: Any) -> None:
        """Follow the user's settings; what they change in open scripts shows at once."""
        if session.configuration.update(given):
            await show_scripts_anew()

    async def show_scripts_anew() -> None:
        if session.client.pulls_diagnostics:
            session.refresh()
        else:
            await asyncio.gather(*(push(d.uri) for d in session.documents.opened() if not d.is_log))

    told: tuple[object, ...] = ()

    async def follow_log() -> None:
        """Hints in open scripts follow what the newest log says of its launch."""
        nonlocal told
        facts = await actions.log_facts(session, session.recall.newest)
        if told != (told := (facts.torch_version, facts.checkpoint_s)):
            await show_scripts_anew()

    def on_diagnosed() -> None:
        if any(not d.is_log and d.launch_kind is not None for d in session.documents.opened()):
            asyncio.get_running_loop().create_task(follow_log())

    @server.feature(types.SHUTDOWN)
    def on_shutdown(_: None) -> None:
        watches.close()
        own.close()
        session.close()

    # -- documents -----------------------------------------------------------------------------------------------------

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def on_open(params: types.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        if session.is_remembered(uri):
            publish(uri, [])
        await push(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def on_change(params: types.DidChangeTextDocumentParams) -> None:
        session.forget(params.text_document.uri)
        await push(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def on_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        session.forget(uri)
        own.forget(uri)
        view = session.remembered(uri)
        if view is not None or not session.client.pulls_diagnostics:
            publish(uri, diagnostics_of(view, session.client, session.page_uri) if view else [])

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def on_save(params: types.DidSaveTextDocumentParams) -> None:
        """A saved page takes part in diagnoses from now on, those of the open logs among them."""
        if not is_own_page(params.text_document.uri):
            return
        own.use_folders()
        if session.client.pulls_diagnostics:
            session.refresh()
        else:
            await asyncio.gather(*(push(d.uri) for d in session.documents.opened()))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def on_files(params: types.DidChangeWatchedFilesParams) -> None:
        """The problems of a file that is gone go too."""
        for change in params.changes:
            if change.type == types.FileChangeType.Deleted:
                for uri in session.drop_deleted(change.uri):
                    publish(uri, [])

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def on_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        """The workspace follows the change by itself; its own pages are those of the folders that are open now."""
        own.use_folders()

    # -- diagnostics ---------------------------------------------------------------------------------------------------

    async def pull(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        problems = await own.diagnostics(params.text_document.uri)
        if problems is not None:
            return types.RelatedFullDocumentDiagnosticReport(problems)
        script = await outlook_of(session, launch, params.text_document.uri)
        if script is not None:
            return types.RelatedFullDocumentDiagnosticReport(hints_of_script(*script, session.client))
        view = await session.view(params.text_document.uri)
        if view is None:
            return types.RelatedFullDocumentDiagnosticReport([])
        result_id = f"{view.analysis.generation}"
        if params.previous_result_id == result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id)
        return types.RelatedFullDocumentDiagnosticReport(diagnostics_of(view, session.client, session.page_uri), result_id=result_id)

    async def push(uri: str) -> None:
        """Publish the diagnostics of an open log, launch script or own page, for a client that does not ask for them."""
        document = session.documents.find(uri)
        if session.client.pulls_diagnostics or document is None:
            return
        state = document.state
        found: list[types.Diagnostic] = []
        if is_own_page(uri):
            found = await own.diagnostics(uri) or []
        elif document.is_log:
            view = await session.view(uri)
            found = diagnostics_of(view, session.client, session.page_uri) if view else []
        elif document.launch_kind is not None:
            script = await outlook_of(session, launch, uri)
            found = hints_of_script(*script, session.client) if script else []
        else:
            return
        present = session.documents.find(uri)
        if present is not None and present.state == state:
            publish(uri, found, present.version)

    def publish(uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def publish_files(analysis: Analysis, before: Mapping[str, Analysis]) -> None:
        """Publish what was found on disk. Open logs show it through their own diagnostics, so that nothing shows twice."""
        refresh = False
        open_documents = {path_key(path): d for d in session.documents.opened() if d.is_log and (path := to_fs_path(d.uri))}
        for name, source in analysis.sources.items():
            key = path_key(to_fs_path(source.uri) or source.uri)
            if (document := open_documents.get(key)) is not None:
                refresh = True
                if not session.client.pulls_diagnostics:
                    asyncio.get_running_loop().create_task(push(document.uri))
            elif name in analysis.marks or key in before:
                publish(source.uri, diagnostics_of(View(analysis, name), session.client, session.page_uri))
        if refresh:
            session.refresh()

    # An answer of None leaves a document to others: an empty list of folds would take the editor's own away from a program.
    # -- features of a log ---------------------------------------------------------------------------------------------

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def on_hover(params: types.HoverParams) -> types.Hover | None:
        return await hover.answer(session, params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def on_code_lens(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        view = await session.view(params.text_document.uri)
        return lenses.lenses_of(view) if view else None

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def on_inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        view = await session.view(params.text_document.uri)
        return hints.hints_of(view, params.range) if view else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def on_definition(params: types.DefinitionParams) -> types.Location | list[types.LocationLink] | None:
        view = await session.view(params.text_document.uri)
        return navigation.definition_of(view, params.position, links=session.client.link_support) if view else None

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def on_references(params: types.ReferenceParams) -> list[types.Location] | None:
        view = await session.view(params.text_document.uri)
        return navigation.references_of(view, params.position, declaration=params.context.include_declaration) if view else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def on_highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight] | None:
        form = await session.structure(params.text_document.uri)
        return navigation.highlights_of(*form, params.position.line, session.client.encoding) if form else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def on_symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
        view = await session.view(params.text_document.uri)
        form = await session.structure(params.text_document.uri)
        if form is None:
            return None
        symbols = outline.outline_of(view, *form, session.client.encoding)
        return symbols if session.client.hierarchical_symbols else outline.flattened(params.text_document.uri, symbols)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def on_folding(params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        form = await session.structure(params.text_document.uri)
        return folding.folds_of(form[0]) if form else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def on_links(params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
        form = await session.structure(params.text_document.uri)
        return await links.answer(session, *form) if form else None

    async def on_code_action(params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        return await actions.actions_for(session, launch, params)

    async def on_resolve(action: types.CodeAction) -> types.CodeAction:
        return await actions.resolve(session, launch, action)

    # -- own requests --------------------------------------------------------------------------------------------------

    @server.feature(requests.DIAGNOSE)
    async def on_diagnose(params: Any) -> dict[str, Any]:
        return await requests.diagnose(session, params, publish_files)

    watches = Watches(session, publish_files)

    @server.feature(WATCH)
    async def on_watch(params: Any) -> dict[str, Any]:
        return watches.handle(params)

    @server.feature(reports.VIEW)
    async def on_view(params: Any) -> dict[str, Any]:
        return await reports.view(session, params, publish_files)

    @server.feature(reports.REDACTED)
    async def on_redacted(params: Any) -> dict[str, Any]:
        return await reports.redacted(session, params, publish_files)

    @server.feature(reports.LOCATE)
    async def on_locate(params: Any) -> dict[str, Any]:
        return await reports.place(session, params, publish_files)

    @server.feature(fixes.APPLY_FIX)
    async def on_apply_fix(params: Any) -> dict[str, Any]:
        return await fixes.apply_fix(session, launch, params)

    @server.feature(requests.EXCERPT)
    async def on_excerpt(params: Any) -> dict[str, Any]:
        return await requests.excerpt(session, params)

    @server.feature(requests.EXPLAIN)
    async def on_explain(params: Any) -> dict[str, Any]:
        return requests.explain(session, params)

    @server.feature(requests.FAILURES)
    async def on_failures(params: Any) -> dict[str, Any]:
        return requests.failures(session, params)


def _with_session(session: Session, command: Any) -> Any:
    """A command of the server, called with the arguments the client sends."""
    if asyncio.iscoroutinefunction(command):

        async def waiting(*arguments: Any) -> None:
            await command(session, *arguments)

        return waiting

    def quick(*arguments: Any) -> None:
        command(session, *arguments)

    return quick
