// Runs Python by Pyodide: unpacks Cedilla and the packages that it imports, and answers one message after the other.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function start() {
  const python = await loadPyodide();
  const archive = await (await fetch("cedilla.zip")).arrayBuffer();
  python.unpackArchive(new Uint8Array(archive), "zip", { extractDir: "/lib/cedilla" });
  await python.runPythonAsync("import sys; sys.path.insert(0, '/lib/cedilla')");
  await python.runPythonAsync(await (await fetch("playground.py")).text());
  return python.globals.get("answers");
}

const answers = start();

onmessage = async ({ data }) => {
  try {
    const text = (await answers)(data.query, data.data);
    postMessage({ state: "ready", answers: JSON.parse(text) });
  } catch (error) {
    postMessage({ state: `stopped: ${error.message.slice(-500)}` });
  }
};
