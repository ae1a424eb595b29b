// The page: sends query and data to the worker after each change, and shows its answers in tabs.
const QUERY = `# Average flow of all pumps, minute by minute.
stream pumps(ts: long unit s, pump: int in {1, 2}, litres: double unit L)
  from json "pumps"
  punctuated on ts;

minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg(litres) as litres by minute](minutes);

emit flow to json "flow";
`;
const DATA = `# pumps/1.jsonl
{"ts": 0, "pump": 1, "litres": 100.0}
{"ts": 0, "pump": 2, "litres": 140.0}
{"$accent": "[[pump = 1, unit(litres, m3)]]"}
{"ts": 30, "pump": 1, "litres": 0.1}
{"ts": 30, "pump": 2, "litres": 140.0}
{"$punctuation": "[ts < 60]"}
{"ts": 61, "pump": 1, "litres": 0.2}
`;
const TABS = ["output", "rows", "plan", "accents", "findings"];
const element = (id) => document.getElementById(id);
const worker = new Worker("worker.js", { type: "module" });
let answers = {},
  chosen = "output",
  waiting;

function show() {
  element("answer").textContent = answers[chosen] ?? "";
  for (const tab of document.querySelectorAll("[role=tab]")) tab.ariaSelected = String(tab.id === `tab-${chosen}`);
}

for (const name of TABS) {
  const tab = document.createElement("button");
  Object.assign(tab, { id: `tab-${name}`, textContent: name, role: "tab", type: "button" });
  tab.onclick = () => {
    chosen = name;
    show();
  };
  document.querySelector("[role=tablist]").append(tab);
}

function ask() {
  worker.postMessage({ query: element("query").value, data: element("data").value });
}

for (const id of ["query", "data"]) {
  element(id).oninput = () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 200);
  };
}

worker.onmessage = ({ data }) => {
  answers = data.answers ?? answers;
  element("state").textContent = data.state;
  show();
};
element("query").value = QUERY;
element("data").value = DATA;
show();
ask();
