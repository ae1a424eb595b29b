# pyright: basic
# The types of pygls are partial.
"""`cedilla lsp`: the language server protocol over standard input and output, by pygls.

Over 400 lines, as only this module and `connection.py` see pygls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from cedilla.compiler.included import utf8_text
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.hosts.language_server import hover, marker_lines, outline, renaming
from cedilla.runtime.hosts.language_server.completion import Item, complete, complete_accent
from cedilla.runtime.hosts.language_server.connection import Protocol, Writer, messages
from cedilla.runtime.hosts.language_server.cursor import call_at
from cedilla.runtime.hosts.language_server.document import Document
from cedilla.runtime.hosts.language_server.fixes import Edit, fixes
from cedilla.runtime.hosts.language_server.markdown import block
from cedilla.runtime.hosts.language_server.positions import Positions
from cedilla.runtime.hosts.language_server.symbols import Occurrence
from cedilla.runtime.tools.inspect.preview import preview_of

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_ITEMS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "relation": lsp.CompletionItemKind.Class,
    "attribute": lsp.CompletionItemKind.Field,
    "function": lsp.CompletionItemKind.Function,
    "operator": lsp.CompletionItemKind.Method,
    "unit": lsp.CompletionItemKind.Unit,
    "type": lsp.CompletionItemKind.TypeParameter,
    "value": lsp.CompletionItemKind.Value,
    "setting": lsp.CompletionItemKind.Property,
}
_SYMBOLS = {
    "source": lsp.SymbolKind.Class,
    "relation": lsp.SymbolKind.Variable,
    "constant": lsp.SymbolKind.Constant,
    "operator": lsp.SymbolKind.Function,
    "output": lsp.SymbolKind.Event,
    "attribute": lsp.SymbolKind.Field,
}


class CedillaServer(LanguageServer):
    """A server with the documents of an editor, each analysed once for each version."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("cedilla", version("cedilla"), protocol_cls=Protocol)
        self.documents: dict[str, Document] = {}
        self.owners: dict[str, marker_lines.Owner | None] = {}

    @property
    def root(self) -> Path:
        """The folder that queries are run in."""
        return Path(self.workspace.root_path or ".").resolve()

    def document(self, uri: str) -> Document:
        """Returns the query at an address, as the editor has it."""
        text, _ = self.text(uri)
        document = self.documents.get(uri)
        if document is None or document.text != text:
            _path(uri)  # one that the compiler can look for files next to
            document = self.documents[uri] = Document(text, to_fs_path(uri) or uri)
        return document

    def positions(self, text: str) -> Positions:
        """Returns the lines of a text with the client's way to count characters."""
        return Positions(text, lsp.PositionEncodingKind(self.workspace.position_encoding or "utf-16").value)

    def text(self, uri: str) -> tuple[str, Positions]:
        """Returns the text at an address, as the editor has it, and its lines; else that of its file."""
        opened = self.workspace.text_documents.get(unquote(uri))
        text = file_text(uri) if opened is None else opened.source
        return text, self.positions(text)

    def owner(self, uri: str) -> marker_lines.Owner | None:
        """Returns the query that reads a file; it is looked for again after a query has changed."""
        if uri not in self.owners:
            self.owners[uri] = marker_lines.owner_of(_path(uri), self.root, self.documents.values())
        return self.owners[uri]


server = CedillaServer()


def is_stream(uri: str) -> bool:
    """Returns True for a file of JSON Lines."""
    return uri.endswith((".jsonl", ".json"))


def file_text(uri: str) -> str:
    """Returns the text of a file that is not open. Raises `JsonRpcInvalidParams` if it does not exist."""
    path = _path(uri)
    try:
        if path.is_file():  # not a pipe or a device, which may never end
            return utf8_text(path.read_bytes)
    except (ValueError, OSError) as wrong:
        raise JsonRpcInvalidParams("the document is not open, and its file cannot be read") from wrong
    raise JsonRpcInvalidParams("the document is not open, and is not a file of text")


def _path(uri: str) -> Path:
    """Returns the path of an address. Raises `JsonRpcInvalidParams` for what no file can be called."""
    try:
        return Path(to_fs_path(uri) or uri).resolve()
    except (ValueError, OSError) as wrong:
        raise JsonRpcInvalidParams("the address is not one of a file") from wrong


# --- findings ---


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def on_change(
    ls: CedillaServer, params: lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams
) -> None:
    """Publishes the findings about a text that was opened or has changed."""
    uri = params.text_document.uri
    affected = [uri]
    if not is_stream(uri):
        ls.owners.clear()
        affected += filter(is_stream, ls.workspace.text_documents)
    for uri in affected:
        text, positions = ls.text(uri)
        diagnostics = _checked(ls, uri, text)
        _publish(ls, uri, [_finding(d, positions.range(*offsets)) for _, d, offsets in diagnostics])


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def on_close(ls: CedillaServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """Forgets a text, and withdraws its findings."""
    ls.documents.pop(params.text_document.uri, None)
    _publish(ls, params.text_document.uri, [])


def _publish(ls: CedillaServer, uri: str, diagnostics: list[lsp.Diagnostic]) -> None:
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))


def _offsets(document: Document, diagnostic: Diagnostic) -> tuple[int, int]:
    """Returns the place of a finding; of one in a file that the query uses, the name of that file."""
    span = diagnostic.span
    if span is None:
        return 0, 0
    if span.source == document.source:
        return span.start, span.end
    start = max(document.text.find(span.source), 0)
    return start, start + (len(span.source) if start else 0)


def _finding(diagnostic: Diagnostic, location: lsp.Range) -> lsp.Diagnostic:
    help = [] if diagnostic.help is None else [f"help: {diagnostic.help}"]
    notes = [f"note: {note}" for note in diagnostic.notes]
    return lsp.Diagnostic(
        location,
        "\n".join([diagnostic.message, *notes, *help]),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source="cedilla",
    )


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
)
def on_code_action(ls: CedillaServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Returns the edits that remove the findings at a place."""
    uri = params.text_document.uri
    text, positions = ls.text(uri)
    actions: list[lsp.CodeAction] = []
    first, last = positions.offset(params.range.start), positions.offset(params.range.end)
    for checked, diagnostic, (start, end) in _checked(ls, uri, text):
        if start > last or end < first:
            continue
        finding = _finding(diagnostic, positions.range(start, end))
        for fix in fixes(checked, diagnostic):
            edit = fix.edit if isinstance(checked, Document) else marker_lines.edit_of(checked, fix.edit)
            actions.append(
                lsp.CodeAction(
                    fix.title,
                    kind=lsp.CodeActionKind.QuickFix,
                    diagnostics=[finding],
                    edit=_workspace_edit(positions, uri, [edit]),
                    is_preferred=not actions,
                )
            )
    return actions


def _checked(
    ls: CedillaServer, uri: str, text: str
) -> Iterator[tuple[Document | marker_lines.CheckedMarker, Diagnostic, tuple[int, int]]]:
    """Yields the findings about a text with their places in it: of a query, or of the markers of a stream."""
    if not is_stream(uri):
        document = ls.document(uri)
        yield from ((document, d, _offsets(document, d)) for d in document.diagnostics)
        return
    for checked in marker_lines.check_markers(_path(uri), text, ls.owner(uri)):
        yield from ((checked, d, marker_lines.span_of(checked.marker, d)) for d in checked.diagnostics)


def _workspace_edit(positions: Positions, uri: str, edits: Iterable[Edit]) -> lsp.WorkspaceEdit:
    changes = [lsp.TextEdit(positions.range(edit.start, edit.end), edit.new) for edit in edits]
    return lsp.WorkspaceEdit(changes={uri: changes})


# --- what is at a place ---


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def on_hover(ls: CedillaServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """Returns what is known of the name or marker at a place."""
    uri = params.text_document.uri
    text, positions = ls.text(uri)
    offset = positions.offset(params.position)
    if is_stream(uri):
        marker, owner = marker_lines.marker_at(text, offset), ls.owner(uri)
        if marker is None or owner is None:
            return None
        shown = block(marker_lines.marker_hover(owner, text, marker), "text")
        shown_hover = hover.Hover(marker.places[0], marker.places[-1], shown)
    else:
        shown_hover = hover.hover(ls.document(uri), offset)
    if shown_hover is None:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, shown_hover.text)
    return lsp.Hover(content, positions.range(shown_hover.start, shown_hover.end))


@server.feature(
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.CompletionOptions(trigger_characters=["[", "(", "{", ",", ".", " ", "="]),
)
def on_completion(ls: CedillaServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    """Returns what may be typed at a place."""
    uri = params.text_document.uri
    text, positions = ls.text(uri)
    offset = positions.offset(params.position)
    start, items = offset, list[Item]()
    if not is_stream(uri):
        start, items = complete(ls.document(uri), offset)
    elif (marker := marker_lines.marker_at(text, offset)) is not None and (
        owner := ls.owner(uri)
    ) is not None:
        inside, items = complete_accent(owner.plan, owner.source, marker.text, marker.offset(offset))
        start = marker.places[inside]
    range_ = positions.range(start, offset)
    return lsp.CompletionList(False, [_item(item, range_, n, is_stream(uri)) for n, item in enumerate(items)])


def _item(item: Item, replaced: lsp.Range, number: int, in_json: bool) -> lsp.CompletionItem:
    new = item.label if item.insert is None else item.insert
    has_places = item.insert is not None and "$" in item.insert
    return lsp.CompletionItem(
        item.label,
        kind=_ITEMS[item.kind],
        detail=item.detail or None,
        documentation=item.text or None,
        sort_text=f"{number:04}",
        insert_text_format=lsp.InsertTextFormat.Snippet if has_places else lsp.InsertTextFormat.PlainText,
        text_edit=lsp.TextEdit(replaced, new.replace('"', '\\"') if in_json else new),
    )


@server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", ","]))
def on_signature(ls: CedillaServer, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    """Returns the call of the function whose arguments are typed."""
    if is_stream(params.text_document.uri):
        return None
    document = ls.document(params.text_document.uri)
    call = call_at(document.text, ls.positions(document.text).offset(params.position))
    usage = "" if call is None else hover.usage(call[0])
    if call is None or not usage:
        return None
    return lsp.SignatureHelp([lsp.SignatureInformation(usage)], 0, call[1])


# --- names ---


def _location(ls: CedillaServer, document: Document, name: Occurrence) -> lsp.Location:
    if name.source == document.source:
        uri, text = from_fs_path(document.source) or document.source, document.text
    else:
        path = (Path(document.source).parent / name.source).resolve()
        uri, text = from_fs_path(str(path)) or str(path), document.used_text(name.source) or ""
    return lsp.Location(uri, ls.positions(text).range(name.start, name.end))


def _occurrence_at(ls: CedillaServer, uri: str, position: lsp.Position) -> tuple[Document, Occurrence | None]:
    document = ls.document(uri)
    return document, document.names.at(ls.positions(document.text).offset(position), document.source)


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def on_definition(ls: CedillaServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    """Returns the place that defines a name."""
    if is_stream(params.text_document.uri):
        return None
    document, name = _occurrence_at(ls, params.text_document.uri, params.position)
    defined = None if name is None else document.names.definition(name)
    return None if defined is None else _location(ls, document, defined)


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def on_references(ls: CedillaServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Returns all places that name the same thing."""
    if is_stream(params.text_document.uri):
        return []
    document, name = _occurrence_at(ls, params.text_document.uri, params.position)
    uses = [] if name is None else [*dict.fromkeys(document.names.uses(name.symbol))]
    with_definition = params.context.include_declaration
    return [_location(ls, document, use) for use in uses if with_definition or not use.defines]


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def on_prepare_rename(ls: CedillaServer, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    """Returns the place of a name that can be changed."""
    document = ls.document(params.text_document.uri)
    positions = ls.positions(document.text)
    try:
        name = renaming.renamed_at(document, positions.offset(params.position))
    except renaming.Refused:
        return None
    return positions.range(name.start, name.end)


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def on_rename(ls: CedillaServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """Returns the edits that give a thing another name."""
    document = ls.document(params.text_document.uri)
    positions = ls.positions(document.text)
    opened = {_path(uri): text.source for uri, text in ls.workspace.text_documents.items() if is_stream(uri)}

    def in_markers(source: Source, name: str) -> str | None:
        plan = document.plan
        return None if plan is None else marker_lines.named_in(plan, source, ls.root, name, opened)

    try:
        edits = renaming.rename(document, positions.offset(params.position), params.new_name, in_markers)
    except renaming.Refused as refused:
        raise JsonRpcInvalidParams(str(refused)) from None
    return _workspace_edit(positions, params.text_document.uri, edits)


# --- the whole text ---


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def on_symbols(ls: CedillaServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """Returns the outline of a query."""
    if is_stream(params.text_document.uri):
        return []
    document = ls.document(params.text_document.uri)
    positions = ls.positions(document.text)
    return [_symbol(positions, symbol) for symbol in outline.symbols(document)]


def _symbol(positions: Positions, symbol: outline.Symbol) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        symbol.name,
        _SYMBOLS[symbol.kind],
        positions.range(symbol.start, symbol.end),
        positions.range(symbol.name_start, symbol.name_end),
        detail=symbol.kind,
        children=[_symbol(positions, child) for child in symbol.children],
    )


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def on_formatting(ls: CedillaServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """Returns the layout of `cedilla fmt`; nothing for a text with syntax errors."""
    if is_stream(params.text_document.uri):
        return []
    document = ls.document(params.text_document.uri)
    try:
        laid_out = format_query(parse_query(document.text, keep_names=True), document.text)
    except DiagnosticError:
        return []
    if laid_out == document.text:
        return []
    return [lsp.TextEdit(ls.positions(document.text).range(0, len(document.text)), laid_out)]


@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def on_inlays(ls: CedillaServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """Returns the units of computed attributes and of compared numbers."""
    if is_stream(params.text_document.uri):
        return []
    document = ls.document(params.text_document.uri)
    positions = ls.positions(document.text)
    first, last = positions.offset(params.range.start), positions.offset(params.range.end)
    return [
        lsp.InlayHint(positions.position(inlay.offset), inlay.text, padding_left=True)
        for inlay in outline.inlays(document)
        if first <= inlay.offset <= last
    ]


@server.feature("cedilla/preview")
def on_preview(ls: CedillaServer, params: Any) -> str:
    """Returns the preview of a query during typing: rows in and out of every step."""
    uri = getattr(params, "uri", None)
    if not isinstance(uri, str):
        raise JsonRpcInvalidParams("a preview is of a `uri`")
    document = ls.document(uri)
    return preview_of(document.text, document.source, Options(allow_paths=(str(ls.root),)))


def serve() -> None:
    """Serves one editor over standard input and output until it leaves."""
    server.protocol.set_writer(Writer(sys.stdout.buffer))
    for message in messages(sys.stdin.buffer):
        server.protocol.take(message)
