// Runs Python by Pyodide: unpacks Cedilla and the packages that it imports, and answers one message after the other.
const AGAIN = "In a clone of the repository, install Node and run `make site` again, which puts it there.";

async function part(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`This site has no playground/${name}. ${AGAIN}`);
  return response;
}

async function pyodide() {
  try {
    return await import("./pyodide/pyodide.mjs");
  } catch {
    throw new Error(`This site has no Pyodide, the Python of a browser. ${AGAIN}`);
  }
}

async function start() {
  const { loadPyodide } = await pyodide();
  // A link may carry a query of a stranger: Python reaches nothing of the page.
  const python = await loadPyodide({ jsglobals: {} });
  const archive = await (await part("cedilla.zip")).arrayBuffer();
  python.unpackArchive(new Uint8Array(archive), "zip", { extractDir: "/lib/cedilla" });
  await python.runPythonAsync("import sys; sys.path.insert(0, '/lib/cedilla')");
  await python.runPythonAsync(await (await part("playground.py")).text());
  return python.globals.get("answers");
}

const answers = start();

onmessage = async ({ data }) => {
  try {
    const text = (await answers)(data.query, data.data);
    postMessage({ state: "ready: Python runs in this page, and nothing is sent anywhere", answers: JSON.parse(text) });
  } catch (error) {
    postMessage({ stopped: `The playground has stopped: ${error.message.slice(-500)}` });
  }
};
