// The page: sends query and data to the worker after each change, shows its answers in tabs, and keeps both texts in its address.
import { colored } from "./colors.js";

const TABS = {
  output: "What the query writes: results, and markers of its own that tell its readers of a change.",
  rows: "How many rows each step of the query has read and written.",
  plan: "What each step does, and what it keeps until when.",
  accents: "What would happen, step by step, at each change that can still come.",
  findings: "What the compiler has to say about the query before it runs.",
};
const element = (id) => document.getElementById(id);
const fields = { query: element("query"), data: element("data") };
const loaded = async (name, other) => {
  const response = await fetch(name);
  return response.ok ? response.json() : other;
};
const [examples, words] = await Promise.all([loaded("examples.json", []), loaded("words.json", {})]);
let answers = {},
  chosen = "output",
  waiting;

function stop(reason) {
  element("state").className = "stopped";
  element("state").textContent = reason;
}

const worker = new Worker("worker.js", { type: "module" });
worker.onerror = (problem) =>
  stop(`The worker of this page has not started: ${problem.message ?? "the browser gives no reason"}. Reload the page.`);
worker.onmessage = ({ data }) => {
  answers = data.answers ?? answers;
  if (data.stopped) return stop(data.stopped);
  element("state").className = "";
  element("state").textContent = data.state;
  show();
};

function show() {
  element("answer").replaceChildren(...colored(answers[chosen] ?? "", chosen === "output" ? "data" : "text", words));
  element("answer").className = chosen === "output" ? "" : "aligned";
  element("meaning").textContent = TABS[chosen];
  for (const tab of document.querySelectorAll("[role=tab]")) tab.ariaSelected = String(tab.id === `tab-${chosen}`);
}

for (const name of Object.keys(TABS)) {
  const tab = document.createElement("button");
  Object.assign(tab, { id: `tab-${name}`, textContent: name, role: "tab", type: "button" });
  tab.onclick = () => {
    chosen = name;
    show();
  };
  document.querySelector("[role=tablist]").append(tab);
}

function paint(id) {
  const under = fields[id].previousElementSibling;
  under.replaceChildren(...colored(`${fields[id].value}\n`, id, words));
  under.scrollTo(fields[id].scrollLeft, fields[id].scrollTop);
}

function ask() {
  worker.postMessage({ query: fields.query.value, data: fields.data.value });
}

// An example has a short address; texts of the visitor are in the address, which no server is sent.
function address() {
  const texts = { query: fields.query.value, data: fields.data.value };
  const same = examples.find(({ query, data }) => query === texts.query && data === texts.data);
  element("words").textContent = same?.words ?? "Your own query and stream: both are in the address of this page, and sent nowhere.";
  element("example").value = same?.name ?? "";
  history.replaceState(null, "", `#${new URLSearchParams(same ? { example: same.name } : texts)}`);
}

function put({ query, data }) {
  Object.assign(fields.query, { value: query });
  Object.assign(fields.data, { value: data });
  Object.keys(fields).forEach(paint);
  address();
  ask();
}

for (const [id, field] of Object.entries(fields)) {
  field.parentElement.classList.remove("plain");
  field.readOnly = false; // before, what somebody writes would be replaced by the example
  field.oninput = () => {
    paint(id);
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      address();
      ask();
    }, 200);
  };
  field.onscroll = () => field.previousElementSibling.scrollTo(field.scrollLeft, field.scrollTop);
}

element("example").append(
  ...examples.map(({ name, title }) => new Option(title, name)),
  Object.assign(new Option("your own", ""), { hidden: true }),
);
element("example").onchange = ({ target }) => put(examples.find(({ name }) => name === target.value));
element("link").onclick = async () => {
  await navigator.clipboard.writeText(location.href);
  element("link").textContent = "Copied";
  setTimeout(() => (element("link").textContent = "Copy a link to this"), 1500);
};

function asked() {
  const given = new URLSearchParams(location.hash.slice(1));
  const example = examples.find(({ name }) => name === given.get("example")) ?? examples[0];
  put({ query: given.get("query") ?? example.query, data: given.get("data") ?? example.data });
}
onhashchange = asked;
show();
asked();
