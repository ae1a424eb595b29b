// Starts `cedilla lsp` for queries, and for JSON Lines that a query reads.
const path = require("path");
const { EventEmitter, Uri, ViewColumn, commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
  const given = workspace.getConfiguration("cedilla").get("command");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  return folder && given.includes("/") ? path.resolve(folder, given) : given;
}

function activate(context) {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const server = { command: command(), args: ["lsp"], options: { cwd: folder } };
  const documentSelector = [{ language: "cedilla" }, { scheme: "file", pattern: "**/*.jsonl" }];
  client = new LanguageClient("cedilla", "Cedilla", server, { documentSelector });
  context.subscriptions.push(...preview());
  return client.start();
}

// Shows rows in and out of every step beside the query, again after each change.
function preview() {
  const changed = new EventEmitter();
  const address = (uri) => Uri.parse(`cedilla-preview:preview.txt?${encodeURIComponent(uri)}`);
  const provider = {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => client.sendRequest("cedilla/preview", { uri: decodeURIComponent(uri.query) }),
  };
  const show = async () => {
    const query = window.activeTextEditor?.document;
    if (query?.languageId !== "cedilla") return;
    const document = await workspace.openTextDocument(address(query.uri.toString()));
    await window.showTextDocument(document, { viewColumn: ViewColumn.Beside, preserveFocus: true });
  };
  return [
    workspace.registerTextDocumentContentProvider("cedilla-preview", provider),
    workspace.onDidChangeTextDocument(({ document }) => changed.fire(address(document.uri.toString()))),
    commands.registerCommand("cedilla.preview", show),
  ];
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
