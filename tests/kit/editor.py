"""An editor without a screen: a client of `cedilla lsp` over standard input and output, one call after the other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

PATIENCE = 90
"""Seconds after which an answer counts as missing; the first one reads the grammar on a busy machine."""
T = TypeVar("T")


class Editor:
    """A client with the texts that it has open. `root`: its folder, in which the server runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: dict[str, asyncio.Queue[list[lsp.Diagnostic]]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)  # the loop of a browser may run in this one
        self._thread.start()
        self._client = LanguageClient("test", "1")

        @self._client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def on_found(params: lsp.PublishDiagnosticsParams) -> None:
            self._queue(params.uri).put_nowait(list(params.diagnostics))

        self._versions: dict[str, int] = {}
        self._run(self._begin())

    async def _begin(self) -> None:
        await self._client.start_io(
            sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "lsp", cwd=str(self.root)
        )
        capabilities = lsp.ClientCapabilities()
        params = lsp.InitializeParams(capabilities, process_id=None, root_uri=self.root.as_uri())
        self.capabilities = (await self._client.initialize_async(params)).capabilities
        self._client.initialized(lsp.InitializedParams())

    def close(self) -> None:
        """Ends the server in the order of the protocol."""

        async def end() -> None:
            await self._client.shutdown_async(None)
            self._client.exit(None)
            await self._client.stop()

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def write(self, name: str, text: str) -> list[lsp.Diagnostic]:
        """Opens a text, or replaces it; returns the findings of the server."""
        uri = self.uri(name)
        self._versions[name] = version = self._versions.get(name, 0) + 1
        if version == 1:
            item = lsp.TextDocumentItem(uri, "cedilla", version, text)
            self._client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        else:
            identifier = lsp.VersionedTextDocumentIdentifier(version=version, uri=uri)
            whole = lsp.TextDocumentContentChangeWholeDocument(text)
            self._client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [whole]))
        return self.findings(name)

    def findings(self, name: str) -> list[lsp.Diagnostic]:
        """Returns the next findings about a text."""
        return self._run(asyncio.wait_for(self._queue(self.uri(name)).get(), PATIENCE))

    def ask(self, method: str, name: str, **options: Any) -> Any:
        """Sends a request about a text; `at` is a line and a character, from 0."""
        document = lsp.TextDocumentIdentifier(self.uri(name))
        if "at" in options:
            options["position"] = lsp.Position(*options.pop("at"))
        params = {
            "hover": lsp.HoverParams,
            "completion": lsp.CompletionParams,
            "signature_help": lsp.SignatureHelpParams,
            "definition": lsp.DefinitionParams,
            "references": lsp.ReferenceParams,
            "rename": lsp.RenameParams,
            "document_symbol": lsp.DocumentSymbolParams,
            "formatting": lsp.DocumentFormattingParams,
            "inlay_hint": lsp.InlayHintParams,
            "code_action": lsp.CodeActionParams,
        }[method]
        call = getattr(self._client, f"text_document_{method}_async")
        return self._run(asyncio.wait_for(call(params(text_document=document, **options)), PATIENCE))

    def preview(self, name: str) -> str:
        """Returns the preview of a query with the text in the editor."""

        async def asked() -> str:
            return await self._client.protocol.send_request_async("cedilla/preview", {"uri": self.uri(name)})

        return self._run(asked())

    def uri(self, name: str) -> str:
        """Returns the address of a file of the folder."""
        return (self.root / name).as_uri()

    def _queue(self, uri: str) -> asyncio.Queue[list[lsp.Diagnostic]]:
        return self.found.setdefault(uri, asyncio.Queue())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def place(text: str) -> tuple[str, tuple[int, int]]:
    """Returns a text without its `|`, and the line and character of that."""
    before, _, after = text.partition("|")
    row = before.rpartition("\n")[2]
    return before + after, (before.count("\n"), len(row.encode("utf-16-le")) // 2)


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """Returns a text after edits of a server; characters beyond the first plane do not occur in it."""
    rows = text.split("\n")

    def offset(at: lsp.Position) -> int:
        return sum(len(row) + 1 for row in rows[: at.line]) + at.character

    for edit in sorted(edits, key=lambda edit_: offset(edit_.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
