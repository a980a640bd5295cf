"""What the connected editor can do, read once from `initialize`. Knows no feature and no document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from .positions import UTF16

DEFAULT_MAX_SYNC_BYTES = 4 * 1024 * 1024

# These editors keep a lone carriage return inside a line, whatever the protocol says.
_CR_IS_TEXT = ("neovim", "vim", "emacs", "eglot", "lsp-mode", "helix", "kakoune")


@dataclass(frozen=True, slots=True)
class Client:
    """The abilities of one editor. Everything defaults to the least."""

    encoding: str = UTF16
    lone_cr_ends_line: bool = True
    pulls_diagnostics: bool = False
    related_information: bool = False
    fades_unnecessary: bool = False
    strikes_deprecated: bool = False
    links_codes: bool = False
    diagnostic_data: bool = False
    markdown_hover: bool = False
    code_action_literals: bool = False
    resolves_edits: bool = False
    action_data: bool = False
    preferred_actions: bool = False
    disabled_actions: bool = False
    document_changes: bool = False
    annotated_edits: bool = False
    link_support: bool = False
    hierarchical_symbols: bool = False
    lines_fold_only: bool = True
    progress: bool = False
    shows_documents: bool = False
    tells_configuration: bool = False
    follows_configuration: bool = False
    watches_files: bool = False
    refreshes_diagnostics: bool = False
    refreshes_lenses: bool = False
    refreshes_hints: bool = False
    own_client: bool = False
    """Whether it is the extension of this project, which brings the commands firstfault.showReport, goToFirstFault and copyText."""
    trusted: bool = False
    max_sync_bytes: int = DEFAULT_MAX_SYNC_BYTES


def read_client(params: types.InitializeParams, encoding: str) -> Client:
    """The abilities an editor announced; `encoding` is the position encoding that was agreed on."""
    options = params.initialization_options
    options = options if isinstance(options, Mapping) else {}
    text = params.capabilities.text_document or types.TextDocumentClientCapabilities()
    workspace = params.capabilities.workspace or types.WorkspaceClientCapabilities()
    window = params.capabilities.window or types.WindowClientCapabilities()
    published = text.publish_diagnostics or types.PublishDiagnosticsClientCapabilities()
    action = text.code_action or types.CodeActionClientCapabilities()
    edit = workspace.workspace_edit or types.WorkspaceEditClientCapabilities()
    tags = published.tag_support.value_set if published.tag_support else ()
    resolved = action.resolve_support.properties if action.resolve_support else ()
    name = params.client_info.name.lower() if params.client_info else ""
    folding = text.folding_range
    return Client(
        encoding=encoding,
        lone_cr_ends_line=not name.startswith(_CR_IS_TEXT),
        pulls_diagnostics=text.diagnostic is not None,
        related_information=bool(published.related_information),
        fades_unnecessary=types.DiagnosticTag.Unnecessary in tags,
        strikes_deprecated=types.DiagnosticTag.Deprecated in tags,
        links_codes=bool(published.code_description_support),
        diagnostic_data=bool(published.data_support),
        markdown_hover=types.MarkupKind.Markdown in ((text.hover and text.hover.content_format) or ()),
        code_action_literals=action.code_action_literal_support is not None,
        resolves_edits="edit" in resolved and bool(action.data_support),
        action_data=bool(action.data_support),
        preferred_actions=bool(action.is_preferred_support),
        disabled_actions=bool(action.disabled_support),
        document_changes=bool(edit.document_changes),
        annotated_edits=edit.change_annotation_support is not None,
        link_support=bool(text.definition and text.definition.link_support),
        hierarchical_symbols=bool(text.document_symbol and text.document_symbol.hierarchical_document_symbol_support),
        lines_fold_only=folding is None or bool(folding.line_folding_only),
        progress=bool(window.work_done_progress),
        shows_documents=bool(window.show_document and window.show_document.support),
        tells_configuration=bool(workspace.configuration),
        follows_configuration=bool(workspace.did_change_configuration and workspace.did_change_configuration.dynamic_registration),
        watches_files=bool(workspace.did_change_watched_files and workspace.did_change_watched_files.dynamic_registration),
        refreshes_diagnostics=bool(workspace.diagnostics and workspace.diagnostics.refresh_support),
        refreshes_lenses=bool(workspace.code_lens and workspace.code_lens.refresh_support),
        refreshes_hints=bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
        own_client="trusted" in options,
        trusted=options.get("trusted") is True,
        max_sync_bytes=_positive(options.get("maxSyncBytes"), DEFAULT_MAX_SYNC_BYTES),
    )


def _positive(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
