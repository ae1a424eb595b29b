// Starts `cedilla lsp` for queries, and for JSON Lines that a query reads.
const path = require("path");
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
  const given = workspace.getConfiguration("cedilla").get("command");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  return folder && given.includes("/") ? path.resolve(folder, given) : given;
}

function activate() {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const server = { command: command(), args: ["lsp"], options: { cwd: folder } };
  const documentSelector = [{ language: "cedilla" }, { scheme: "file", pattern: "**/*.jsonl" }];
  client = new LanguageClient("cedilla", "Cedilla", server, { documentSelector });
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
