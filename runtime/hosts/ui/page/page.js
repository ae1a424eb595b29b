"use strict";
// One model comes with each event; each section is drawn again only where its part of the model has changed.
const $ = (id) => document.getElementById(id);
const body = (id) => document.querySelector(`#${id} .body`);
const state = {
  model: null,
  offset: 0,
  units: "as written",
  picked: null,
  shown: {},
  filter: {}, // of the values of each attribute: a text, and what they send
  found: {},
  dismissed: new Set(JSON.parse(localStorage.getItem("dismissed") || "[]")),
};

function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "circle", "line", "polyline", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value; // the policy forbids the attribute
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const now = () => Date.now() / 1000 + state.offset;
const count = (n) =>
  n === null || n === undefined ? "?" : Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
const two = (n) => String(n).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
// A time of this machine's clock in ISO 8601, without the day if it is today.
const clock = (t) => {
  const at = new Date(t * 1000),
    time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  return day(at) === day(new Date()) ? time : `${day(at)} ${time}`;
};
function span(seconds) {
  const s = Math.abs(seconds);
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}
const bytes = (n) =>
  n < 1024 ? `${n} B` : n < 1048576 ? `${Math.round(n / 1024)} KB` : `${(n / 1048576).toFixed(1)} MB`;
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const ago = (t) => h("span", { "data-ago": t }, `${span(now() - t)} ago`);

function changed(key, value) {
  const text = JSON.stringify(value);
  if (state.shown[key] === text) return false;
  state.shown[key] = text;
  return true;
}

// What a reader has scrolled, opened or begun to type stays, although its section is drawn again.
function fill(id, ...nodes) {
  const box = body(id),
    kept = [...box.querySelectorAll("[data-keep]")].map((node) => ({
      key: node.dataset.keep,
      top: node.scrollTop,
      left: node.scrollLeft,
      open: node.open,
      focused: node === document.activeElement,
      at: node.selectionStart,
    }));
  box.replaceChildren(...nodes);
  for (const each of kept) {
    const node = [...box.querySelectorAll("[data-keep]")].find((found) => found.dataset.keep === each.key);
    if (!node) continue;
    if (node.tagName === "DETAILS") node.open = each.open;
    node.scrollTop = each.top;
    node.scrollLeft = each.left;
    if (!each.focused) continue;
    node.focus({ preventScroll: true });
    if (typeof each.at === "number") node.setSelectionRange(each.at, each.at);
  }
}

function draw(model) {
  state.model = model;
  state.offset = model.time - Date.now() / 1000;
  const wrong = model.problems || [];
  $("problems").hidden = !wrong.length;
  if (wrong.length && changed("problems", wrong)) $("problems").replaceChildren(...problems(wrong));
  $("loading").hidden = true;
  if (wrong.length) {
    $("head").replaceChildren(h("h1", {}, h("span", { class: "dot" }), model.path));
    return;
  }
  state.shown.problems = null;
  document.querySelector("main").classList.remove("loading");
  head(model);
  if (changed("stop", [model.stop, model.run.state, model.run.type])) stop(model);
  if (changed("members", model.sources)) members(model);
  if (changed("waits", model.accents.waits)) waits(model);
  if (changed("accents", [model.accents, model.sources.map((s) => s.stated)])) accents(model);
  doubtful(model);
  if (changed("quarantine", [model.quarantine, model.epochs, model.sources.map((s) => s.undeclared)])) quarantine(model);
  if (changed("plan", model.plan)) plan(model.plan);
  if (changed("choices", [model.sources.map((s) => s.name), model.outputs.map((o) => o.name)])) choices(model);
  if (changed("rows", [model.run.epoch])) rows();
  if (changed("epochs", [model.epochs, model.state, Math.floor(now() / 10)])) epochs(model);
}

const problems = (items) =>
  items.map((p) =>
    h(
      "div",
      { class: "alert bad" },
      h("p", {}, h("b", {}, [p.code, p.message].filter(Boolean).join(" · "))),
      p.help ? h("p", {}, p.help) : null,
      ...(p.notes || []).map((n) => h("p", { class: "k" }, n)),
    ),
  );

function head(model) {
  const run = model.run,
    closed = model.sources.map((s) => s.closed).filter((c) => c && c.value !== null);
  const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
  const left = [
    [model.files_left, "file"],
    [model.records_left, "record"],
  ].filter(([counts]) => Object.keys(counts).length);
  document.title = `${run.state === "running" ? "" : "■ "}${model.query.name} · Cedilla`;
  const doubts = model.doubtful.filter((d) => !state.dismissed.has(d.key)).length;
  const red = failed(model);
  const aside = model.quarantine.reduce((all, q) => all + q.count, 0),
    silent = model.sources.flatMap((s) => s.groups).reduce((all, g) => all + g.counts.silent, 0);
  $("head").replaceChildren(
    h("h1", {}, h("span", { class: `dot ${run.state === "stopped" && !red ? "ended" : run.state}` }), `${model.query.name}.rq`),
    h(
      "span",
      { id: "alive", class: red ? "red" : null },
      run.state,
      run.since && run.state === "running" ? ` since ${clock(run.since)}` : "",
      h(
        "span",
        { class: "k" },
        `${run.engine ? ` · ${run.engine}` : ""}${run.process ? ` · process ${run.process} on ${run.host}` : ""}`,
      ),
    ),
    run.epoch === null
      ? h("span", { class: "k" }, "nothing is committed yet")
      : h(
          "span",
          {},
          "epoch ",
          h("b", { id: "epoch" }, count(run.epoch)),
          " ",
          h("span", { class: "k" }, "committed ", run.committed ? ago(run.committed) : ""),
        ),
    ...closed.map((c) =>
      h(
        "span",
        {},
        "closed up to ",
        h("b", {}, c.behind === null ? c.text : clock(c.value / 1e6)),
        h(
          "span",
          { class: "k" },
          c.behind === null ? ` (${c.attribute})` : ` ${span(c.behind)} ${c.behind < 0 ? "ahead of" : "behind"} now`,
        ),
      ),
    ),
    left.length
      ? h("span", { id: "left" }, `${left.map(([counts, noun]) => plural(sum(counts), noun)).join(", ")} left`)
      : "",
    aside ? h("a", { id: "aside", class: "amber", href: "#quarantine" }, `${plural(aside, "line")} set aside`) : "",
    silent ? h("a", { id: "silent", class: "red", href: "#members" }, `${count(silent)} silent`) : "",
    doubts ? h("a", { class: "amber", href: "#doubtful" }, plural(doubts, "possible mistake")) : "",
  );
}

// An error has ended the run, and no later one has continued; or its process died.
const failed = (model) =>
  model.run.state === "died" || (model.run.state === "stopped" && Boolean(model.stop) && !model.stop.went_on);
const DIED = "the run died without ending (killed, machine lost): start it again, it continues from the last commit";

function stop(model) {
  const s = model.stop && !model.stop.went_on ? model.stop : null,
    again = h("p", {}, "run again (add your options): ", h("code", {}, model.run.type), " ", copy(model.run.type));
  $("stop").hidden = !failed(model);
  body("stop").replaceChildren(
    model.run.state === "died" ? h("div", { class: "alert bad" }, h("p", {}, h("b", {}, DIED)), again) : "",
    ...(s ? [stopped(s, model.run.state === "died" ? "" : again)] : []),
  );
}

const stopped = (s, again) =>
    h(
      "div",
      { class: "alert bad" },
      h(
        "p",
        {},
        h("b", {}, `${s.code}: `, ...ticks(s.message)),
        h("span", { class: "k" }, ` · ${clock(s.time)}${s.place ? ` · ${s.place}` : ""}`),
      ),
      ...s.mend.map((text, n) => h("p", {}, n ? "" : h("b", {}, "to mend: "), ...ticks(text))),
      h("p", { class: "k" }, ...ticks(s.fix)),
      again,
      h("p", {}, s.committed, s.nothing_lost ? h("b", { class: "ok" }, "; nothing is lost") : ""),
      h("details", {}, h("summary", {}, "the message"), h("pre", {}, s.text)),
    );

function members(model) {
  const blocks = model.sources.flatMap((source) => source.groups.map((group) => memberBlock(source, group)));
  fill(
    "members",
    ...(blocks.length ? blocks.flat() : [h("p", { class: "k" }, "No source has an attribute that accents describe.")]),
  );
  for (const source of model.sources)
    for (const group of source.groups) if (isAsked(`${source.name}.${group.attribute}`)) findMembers(source.name, group);
}

const MOST_ROWS = 50; // as many as an answer to a search has
const isAsked = (key) => state.filter[key].text !== "" || Object.keys(state.filter[key].sends).length > 0;

// Those that were searched, by the last answer, else the first of the model.
const shownMembers = (key, group) =>
  (isAsked(key) && state.found[key]) || { rows: group.rows.slice(0, MOST_ROWS), all: group.counts.all };

function howMany(key, { rows, all, problems: wrong }) {
  if (wrong) return [wrong[0].message];
  const sends = Object.entries(state.filter[key].sends).map(([name, way]) => ` that send ${name}: ${way}`);
  return [rows.length < all || isAsked(key) ? `${count(rows.length)} of ${count(all)}` : "", ...sends];
}

function memberBlock(source, group) {
  const key = `${source.name}.${group.attribute}`,
    c = group.counts;
  state.filter[key] ||= { text: "", sends: {} };
  const shown = shownMembers(key, group);
  const box = h("input", {
    "aria-label": `find a ${group.attribute}`,
    placeholder: `find a ${group.attribute}`,
    value: state.filter[key].text,
    size: 14,
    "data-keep": `find ${key}`,
    oninput: (e) => {
      state.filter[key].text = e.target.value;
      findMembers(source.name, group);
    },
  });
  return [
    h(
      "p",
      {},
      h("b", {}, source.name),
      h("span", { class: "k" }, ` by ${group.attribute}: ${c.limited ? "the first " : ""}${plural(c.all, "value")}`),
      c.silent ? h("span", { class: "red" }, `, ${count(c.silent)} silent`) : "",
    ),
    ...group.others.map((name) => waysOf(source, group, name)),
    c.all > 12 ? h("p", {}, box, " ", h("span", { class: "k", "data-found": key }, ...howMany(key, shown))) : "",
    h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": `${source.name} by ${group.attribute}`,
        "data-keep": key,
      },
      h(
        "table",
        { "data-group": key },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...[group.attribute, "last seen", ...group.others].map((t) => h("th", {}, t)),
            h("th", { class: "n" }, "tuples / min"),
            h("th", { class: "n" }, "set aside"),
          ),
        ),
        h("tbody", {}, ...(shown.rows || []).map((row) => member(row, group))),
      ),
    ),
  ];
}

// Those that send the same of an attribute, the commonest first; a click shows them in the table.
function waysOf(source, group, name) {
  const ways = group.ways[name],
    all = group.counts.all,
    key = `${source.name}.${group.attribute}`;
  if (!ways.length || (ways.length < 2 && all < 13)) return "";
  const shares = ways.map((w) => `${count(w.count)} ${w.text ?? "otherwise"}`).join(", ");
  const line = (way) => {
    const rest = way.count - way.first.length;
    const chip =
      way.text === null
        ? h("span", { class: "chip new" }, `${plural(way.others, "other way")} `, h("b", {}, count(way.count)))
        : h(
            "button",
            {
              class: `chip${way.changed ? " new" : ""}`,
              type: "button",
              "aria-pressed": state.filter[key].sends[name] === way.text,
              "data-keep": `way ${key} ${name} ${way.text}`,
              onclick: (e) => {
                const sends = state.filter[key].sends,
                  is_on = sends[name] === way.text;
                state.filter[key].sends = is_on ? {} : { [name]: way.text };
                for (const other of body("members").querySelectorAll(`[data-of="${CSS.escape(key)}"] button`))
                  other.setAttribute("aria-pressed", !is_on && other === e.currentTarget);
                findMembers(source.name, group);
              },
            },
            `${way.text} `,
            h("b", {}, count(way.count)),
          );
    return h(
      "p",
      { class: "way" },
      chip,
      h("span", { class: "k" }, ` ${way.first.join(", ")}${rest > 0 && way.first.length ? ` and ${count(rest)} more` : ""}`),
      way.silent ? h("span", { class: "red" }, `, ${count(way.silent)} silent`) : "",
    );
  };
  return h(
    "div",
    { class: "ways", "data-ways": name, "data-of": key },
    h("p", { class: "way" }, h("b", {}, name)),
    ways.length > 1
      ? h(
          "div",
          { class: "bar", role: "img", "aria-label": shares },
          ...ways.map((w, n) => {
            const before = ways.slice(0, n).filter((v) => v.changed === w.changed).length;
            return h("i", { class: `${w.changed ? "" : "same "}s${before % 3}`, style: `width:${(100 * w.count) / all}%` });
          }),
        )
      : "",
    ...ways.map(line),
  );
}

// Fills the table of an attribute with those that are searched, or with the first of the model.
async function findMembers(source, group) {
  const key = `${source}.${group.attribute}`,
    { text, sends } = state.filter[key];
  if (isAsked(key)) {
    const answer = await ask("members", { source, attribute: group.attribute, find: text, sends }, key);
    if (!answer) return;
    state.found[key] = answer;
  } else asked[`members ${key}`] = (asked[`members ${key}`] ?? 0) + 1; // an answer on its way is old now
  const shown = shownMembers(key, group),
    place = (name) => [...body("members").querySelectorAll(`[data-${name}]`)].find((n) => n.dataset[name] === key);
  place("group")
    ?.querySelector("tbody")
    .replaceChildren(...(shown.rows || []).map((row) => member(row, group)));
  place("found")?.replaceChildren(...howMany(key, shown));
}

function member(row, group) {
  const chips = group.others.map((name) => {
    const a = row.attributes[name],
      since = a.since && a.sent !== "may be" ? ` since ${clock(a.since)}` : "";
    return h("td", {}, h("span", { class: `chip${a.changed || (a.since && a.sent === "yes") ? " new" : ""}` }, a.text + since));
  });
  return h(
    "tr",
    { "data-value": row.value },
    h("td", {}, h("b", {}, row.value)),
    h(
      "td",
      { class: `t${row.silent ? " red" : ""}` },
      row.last === null
        ? "never"
        : row.silent
          ? ["silent for ", h("span", { "data-for": row.last }, span(now() - row.last))]
          : ago(row.last),
    ),
    ...chips,
    h("td", { class: `n${row.silent ? " red" : ""}` }, count(row.rate)),
    h("td", { class: `n${row.rejected ? " amber" : ""}` }, count(row.rejected)),
  );
}

function waits(model) {
  const texts = model.accents.waits.map((t) => h("li", {}, ...ticks(t)));
  body("waits").replaceChildren(
    texts.length ? h("ul", {}, ...texts) : h("p", { class: "k" }, "Nothing waits."),
  );
}

const ticks = (text) => text.split("`").map((part, n) => (n % 2 ? h("code", {}, part) : part));

function accents(model) {
  const a = model.accents,
    shown = a.line.slice(-40);
  const head = h(
    "p",
    {},
    `${plural(a.in_force, "accent")} in force, ${count(a.read)} read, ${count(a.waiting)} waiting`,
  );
  if (!shown.length)
    return fill("accents", head, h("p", { class: "k" }, "No accent has come since the journal began."), ...stated());
  const svg = timeLine(shown, end(model));
  const list = [...shown]
    .reverse()
    .map((each) =>
      h(
        "tr",
        {},
        h("td", { class: "t" }, clock(each.time)),
        h("td", {}, each.source),
        h("td", {}, h("code", {}, each.text)),
        h("td", { class: "k" }, each.where),
        h("td", { class: "k n" }, `epoch ${each.epoch}`),
      ),
    );
  fill(
    "accents",
    head,
    svg,
    h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": "accents, the newest first",
        "data-keep": "accents",
      },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...["at", "source", "accent", "where", ""].map((t) => h("th", {}, t)))),
        h("tbody", {}, ...list),
      ),
    ),
    ...stated(),
    ...inForce(model),
  );
}

// The accents that the query states, in effect from the first tuple on.
const stated = () =>
  state.model.sources
    .filter((s) => (s.stated || []).length)
    .map((s) =>
      h(
        "details",
        { class: "stated", open: true, "data-keep": `stated at ${s.name}` },
        h("summary", {}, `stated by the query at ${s.name}: ${count(s.stated.length)}`),
        ...s.stated.map((t) => h("p", {}, h("code", {}, t.text), h("span", { class: "k" }, ` line ${t.line}`))),
      ),
    );

// Each accent is a dot; one has its text where that fits beside the text before it.
function timeLine(shown, last) {
  const from = shown[0].time,
    to = Math.max(last, from + 60),
    wide = Math.max(300, body("accents").clientWidth),
    x = (t) => 10 + ((wide - 20) * (t - from)) / (to - from),
    texts = [];
  let free = 0;
  for (const each of shown) {
    const text = each.text.replace(/^\[\[|\]\]$/g, "").slice(0, 44),
      length = 7 * Math.max(text.length, each.where.length),
      at = Math.min(x(each.time) - 6, wide - length);
    if (at < free) continue;
    free = at + length + 12;
    texts.push(
      h("text", { x: at, y: 14 }, text),
      h("text", { x: at, y: 30, class: "d" }, each.where),
      h("line", { x1: x(each.time), x2: x(each.time), y1: 35, y2: 44, stroke: "var(--old)" }),
    );
  }
  const dots = shown.map((each) =>
    h(
      "circle",
      { cx: x(each.time), cy: 50, r: 6, fill: "var(--acc)", opacity: 0.75 },
      h("title", {}, `${each.text} on ${each.source}, ${each.where}`),
    ),
  );
  return h(
    "svg",
    { viewBox: `0 0 ${wide} 78`, width: "100%", role: "img", "aria-label": `time line of ${shown.length} accents` },
    h("line", { x1: 10, x2: wide - 10, y1: 50, y2: 50, stroke: "var(--line)" }),
    h("text", { x: 4, y: 74, class: "d" }, clock(from)),
    h("text", { x: wide - 4, y: 74, class: "d", "text-anchor": "end" }, last < now() - 60 ? clock(to) : "now"),
    ...texts,
    ...dots,
  );
}

// The end of time lines: now, or the last epoch of a run that has stopped.
function end(model) {
  const last = model.epochs[model.epochs.length - 1];
  return model.run.state === "running" || !last ? now() : last.start + 10;
}

const inForce = (model) =>
  state.model.sources
    .filter((s) => s.accents.length)
    .map((s) =>
      h(
        "details",
        { "data-keep": `in force at ${s.name}` },
        h("summary", {}, `in force at ${s.name}: ${count(s.in_force)}`),
        ...s.accents.map((t) => h("p", {}, h("code", {}, t))),
        s.in_force > s.accents.length ? h("p", { class: "k" }, `and ${count(s.in_force - s.accents.length)} more`) : "",
      ),
    );

function doubtful(model) {
  const left = model.doubtful.filter((d) => !state.dismissed.has(d.key));
  if (!changed("doubtful", left)) return;
  body("doubtful").replaceChildren(
    ...(left.length
      ? left.map((d) =>
          h(
            "div",
            { class: "alert" },
            h(
              "p",
              {},
              h("b", {}, d.code),
              " · ",
              ...ticks(d.message),
              d.time ? h("span", { class: "k" }, ` · ${clock(d.time)}`) : "",
            ),
            ...d.notes.map((n) => h("p", { class: "k" }, n)),
            d.paste ? h("p", {}, h("code", {}, d.paste)) : d.help ? h("p", {}, ...ticks(d.help)) : "",
            h(
              "p",
              {},
              d.paste ? copy(d.paste) : "",
              d.paste ? h("button", { class: "btn", onclick: () => tryIt(d.paste) }, "try") : "",
              h("button", { class: "btn", onclick: () => dismiss(d.key) }, "dismiss"),
            ),
          ),
        )
      : [h("p", { class: "k" }, "No possible mistakes.")]),
  );
}

function dismiss(key) {
  state.dismissed.add(key);
  localStorage.setItem("dismissed", JSON.stringify([...state.dismissed].slice(-200)));
  draw(state.model);
}

const copy = (text) =>
  h(
    "button",
    {
      class: "btn",
      type: "button",
      onclick: (e) => {
        navigator.clipboard.writeText(text).then(() => {
          e.target.textContent = "copied";
        });
      },
    },
    "copy",
  );

function tryIt(statement) {
  const match = statement.match(/^accent (\S+) (\[\[.*\]\]);$/);
  if (!match) return;
  $("try-source").value = match[1];
  $("try-text").value = match[2];
  $("try").scrollIntoView();
  trace();
}

function quarantine(model) {
  const hour = {};
  for (const bucket of model.epochs)
    if (bucket.start > now() - 3600)
      for (const [code, n] of Object.entries(bucket.rejected)) hour[code] = (hour[code] || 0) + n;
  const items = model.quarantine.map((q) =>
    h(
      "details",
      { open: model.quarantine.length < 4, "data-keep": `${q.source} ${q.code}` },
      h(
        "summary",
        {},
        h("b", {}, q.code),
        ` ${q.source}: ${plural(q.count, "line")}`,
        h("span", { class: "k" }, `, ${count(hour[q.code] || 0)} in the last hour `),
        bars(model, (b) => b.rejected[q.code] || 0, 120, 16),
      ),
      h("p", { class: "k" }, ...ticks(q.meaning)),
      ...q.newest.map((n) =>
        h("p", {}, h("code", {}, n.raw.slice(0, 300)), h("span", { class: "k" }, ` ${n.place}: `, ...ticks(n.reason))),
      ),
      h("p", { class: "k" }, "after mending: ", h("code", {}, q.replay), " ", copy(q.replay)),
    ),
  );
  const undeclared = model.sources.flatMap((s) => {
    const fields = Object.entries(s.undeclared || {}).sort((a, b) => b[1] - a[1]);
    if (!fields.length) return [];
    const shown = fields.slice(0, 20).flatMap(([name, files]) => [h("code", {}, name), ` in ${plural(files, "file")}, `]);
    const more = fields.length > 20 ? `and ${count(fields.length - 20)} more, ` : "";
    return [h("p", { class: "undeclared" }, `${s.name}: `, ...shown, `${more}are not read: no attribute is declared.`)];
  });
  fill("quarantine", ...(items.length ? items : [h("p", { class: "k" }, "Nothing is set aside.")]), ...undeclared);
}

// A value of each ten seconds over at most an hour.
function bars(model, value, width, height) {
  const to = end(model),
    shown = model.epochs.filter((b) => b.start > to - 3600),
    from = Math.min(to - 300, ...shown.map((b) => b.start)),
    top = Math.max(...shown.map(value), 1e-9),
    x = (t) => (width * (t - from)) / (to - from);
  const high = (b) => ((height - 2) * value(b)) / top;
  return h(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      style: "display:inline-block;vertical-align:middle",
      "aria-hidden": true,
    },
    h("line", { x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5, stroke: "var(--line)" }),
    ...shown
      .filter((b) => value(b) > 0)
      .map((b) =>
        h("rect", {
          x: x(b.start),
          y: height - 1 - Math.max(1, high(b)),
          width: Math.max(1.5, x(b.start + 10) - x(b.start) - 0.5),
          height: Math.max(1, high(b)),
          fill: "var(--acc)",
        }),
      ),
  );
}

const NODE = { width: 176, height: 66 },
  LEGIBLE = 0.75; // a smaller drawing is scrolled

// From left to right where that fits the card and stays legible, else from above if that is narrower.
function arranged(graph, room) {
  const deep = 1 + Math.max(0, ...graph.nodes.map((n) => n.layer)),
    broad = 1 + Math.max(0, ...graph.nodes.map((n) => n.row), ...graph.edges.flatMap(([, , rows]) => rows));
  const size = (is_down) => {
    const [w, h_] = is_down ? [broad, deep] : [deep, broad],
      [gap_x, gap_y] = is_down ? [16, 34] : [42, 16];
    return { is_down, gap_x, gap_y, width: w * (NODE.width + gap_x) - gap_x + 12, height: h_ * (NODE.height + gap_y) - gap_y + 12 };
  };
  const flat = size(false),
    down = size(true);
  return LEGIBLE * flat.width <= room || flat.width <= down.width ? flat : down;
}

function plan(graph) {
  const of = arranged(graph, body("plan").clientWidth),
    W = NODE.width,
    H = NODE.height;
  const at = (layer, row) => {
    const [x, y] = of.is_down ? [row, layer] : [layer, row];
    return [6 + x * (W + of.gap_x), 6 + y * (H + of.gap_y)];
  };
  const place = Object.fromEntries(graph.nodes.map((n) => [`${n.id}`, at(n.layer, n.row)])),
    layer = new Map(graph.nodes.map((n) => [n.id, n.layer]));
  const edges = graph.edges.map(([from, to, rows]) => {
    // Through the sides of the two nodes, and of the places that it passes.
    const boxes = [place[from], ...rows.map((row, n) => at(layer.get(from) + 1 + n, row)), place[to]];
    const sides = boxes.flatMap(([x, y]) =>
      of.is_down
        ? [
            [x + W / 2, y],
            [x + W / 2, y + H],
          ]
        : [
            [x, y + H / 2],
            [x + W, y + H / 2],
          ],
    );
    const points = sides.slice(1, -1),
      bend = of.is_down ? of.gap_y / 2 : of.gap_x / 2;
    const d = points.map(([x, y], n) => {
      if (n === 0) return `M${x} ${y}`;
      const [a, b] = points[n - 1];
      if (n % 2 === 0) return `L${x} ${y}`;
      return of.is_down
        ? `C${a} ${b + bend} ${x} ${y - bend} ${x} ${y}`
        : `C${a + bend} ${b} ${x - bend} ${y} ${x} ${y}`;
    });
    return h("path", { class: "edge", d: d.join("") });
  });
  const nodes = graph.nodes.map((node) => {
    const [x, y] = place[node.id],
      source = node.kind === "stream" || node.kind === "table";
    const below =
      node.bytes || node.rows
        ? `${plural(node.rows, "row")} · ${bytes(node.bytes)}`
        : source || node.kind === "emit"
          ? flow(node)
          : node.waits.length
            ? ""
            : "keeps nothing";
    const waits = node.waits.length
      ? `${plural(node.waits.length, "result")} wait${node.waits.length === 1 ? "s" : ""}`
      : "";
    const pick = () => {
      state.picked = node.id;
      plan(state.model.plan);
      $("plan").querySelector(".picked").focus();
    };
    return h(
      "g",
      {
        class: `node${source ? " source" : ""}${node.waits.length ? " waits" : ""}${state.picked === node.id ? " picked" : ""}`,
        tabindex: 0,
        role: "button",
        "aria-label": `${node.kind} ${node.name}: ${[below, waits].filter(Boolean).join(", ")}`,
        onclick: pick,
        onkeydown: (e) => {
          if (e.key === "Enter" || e.key === " ") {
            e.preventDefault();
            pick();
          }
        },
      },
      h("title", {}, `${node.kind.toLowerCase()} ${node.name}`),
      h("rect", { x, y, width: W, height: H, rx: 6 }),
      h("text", { x: x + 11, y: y + 21 }, `${node.kind.toLowerCase()} ${node.name}`.slice(0, 25)),
      h("text", { x: x + 11, y: y + 39, class: "d" }, below.slice(0, 28)),
      waits ? h("text", { x: x + 11, y: y + (below ? 56 : 39), class: "w" }, waits) : "",
    );
  });
  const { width, height } = of;
  fill(
    "plan",
    h(
      "div",
      { class: "drawn", "data-keep": "plan" },
      h(
        "svg",
        {
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          style: `max-width:100%;min-width:${Math.round(LEGIBLE * width)}px;height:auto`,
          role: "group",
          "aria-label": "plan",
        },
        ...edges,
        ...nodes,
      ),
    ),
  );
  const picked = graph.nodes.find((n) => n.id === state.picked);
  $("node").replaceChildren(
    ...(picked
      ? [
          h(
            "p",
            {},
            h("b", {}, `${picked.kind} ${picked.name}`),
            h("span", { class: "k" }, picked.line ? ` line ${picked.line}` : ""),
          ),
          ...picked.waits.map((t) => h("p", { class: "amber" }, ...ticks(t))),
          ...picked.facts.map((t) => h("p", { style: "margin:0" }, t)),
        ]
      : [h("p", { class: "k" }, "Click a step to see its state and what a change would do.")]),
  );
}

function flow(node) {
  const of = (counts) => (Object.hasOwn(counts, node.name) ? counts[node.name] : undefined), // one may be `constructor`
    read = of(state.model.totals.read),
    written = of(state.model.totals.written);
  return node.kind === "emit"
    ? written === undefined
      ? node.facts[0]
      : `${count(written)} written`
    : read === undefined
      ? node.facts[0]
      : `${count(read)} read`;
}

function choices(model) {
  const options = (id, names) => {
    const before = $(id).value;
    $(id).replaceChildren(...names.map((n) => h("option", {}, n)));
    if (names.includes(before)) $(id).value = before;
  };
  options(
    "try-source",
    model.sources.filter((s) => !s.table).map((s) => s.name),
  );
  options(
    "output-name",
    model.outputs.map((o) => o.name),
  );
}

const asked = {}; // how many questions went to each path, about each thing

// Returns the answer, or undefined if a newer question about it went to this path: answers can overtake each other.
async function ask(path, given, about = "") {
  const of = `${path} ${about}`,
    number = (asked[of] = (asked[of] ?? 0) + 1);
  const answer = await (await fetch(path, { method: "POST", body: JSON.stringify(given) })).json();
  return number === asked[of] ? answer : undefined;
}

async function trace(event) {
  event?.preventDefault();
  const marker = $("try-text").value.trim();
  if (!marker) return;
  const answer = await ask("trace", { source: $("try-source").value, marker });
  if (!answer) return;
  if (answer.problems) return $("try-answer").replaceChildren(...problems(answer.problems));
  const blocks = answer.markers.map((m) =>
    h(
      "div",
      {},
      ...problems(m.warnings),
      h(
        "table",
        {},
        h(
          "tbody",
          {},
          ...[...m.relations, ...m.outputs].map((r) => {
            const says = [...r.says.adds, ...r.says.punctuations, ...r.says.alters, ...r.says.drops];
            return h(
              "tr",
              {},
              h("td", {}, `${r.title.toLowerCase()} `, h("b", {}, r.relation)),
              h(
                "td",
                {},
                says.length ? h("code", {}, says.slice(0, 8).join("   ")) : h("span", { class: "k" }, "nothing yet"),
              ),
              h(
                "td",
                {},
                ...r.does.map((t) => h("p", {}, t)),
                ...r.waits.map((t) => h("p", { class: "amber" }, t)),
                ...r.releases.map((t) => h("p", {}, `releases ${t}`)),
              ),
            );
          }),
        ),
      ),
    ),
  );
  $("try-answer").replaceChildren(...blocks);
}

async function rows() {
  const output = $("output-name").value;
  if (!output) return;
  const typed = $("output-unit")
    .value.trim()
    .match(/^(\S+) in (.+)$/);
  const answer = await ask("rows", { output, units: typed ? { [typed[1]]: typed[2] } : state.units });
  if (!answer) return;
  if (answer.problems) return body("output").replaceChildren(...problems(answer.problems));
  const text = (v) =>
    v === undefined || v === null
      ? ""
      : typeof v === "object"
        ? JSON.stringify(v)
        : typeof v === "number"
          ? String(Number.isInteger(v) ? v : Number(v.toPrecision(10)))
          : v;
  body("output").replaceChildren(
    answer.rows.length
      ? h(
          "div",
          { class: "scroll" },
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h("tr", {}, ...answer.names.map((n) => h("th", {}, n, answer.units[n] ? ` [${answer.units[n]}]` : ""))),
            ),
            h(
              "tbody",
              {},
              ...[...answer.rows]
                .reverse()
                .map((r) => h("tr", {}, ...answer.names.map((n) => h("td", {}, text(r[n]))))),
            ),
          ),
        )
      : h("p", { class: "k" }, "No rows since units changed."),
  );
}

function epochs(model) {
  const b = model.epochs.filter((e) => e.start > end(model) - 3600);
  if (!b.length) return body("epochs").replaceChildren(h("p", { class: "k" }, "No epoch is in the last hour."));
  const last = b[b.length - 1],
    phases = Object.entries(last.phases)
      .map(([name, s]) => `${name} ${Math.round((1000 * s) / last.epochs)}`)
      .join(", ");
  const recent = b.filter((e) => e.start > now() - 30).reduce((sum, e) => sum + e.tuples, 0) / 30,
    most = Math.max(...b.map((e) => e.tuples / 10));
  const chart = (title, now_, more, value) =>
    h(
      "div",
      {},
      h("p", { style: "margin:6px 0 2px" }, `${title} `, h("b", {}, now_), h("span", { class: "k" }, more)),
      bars(model, value, 300, 36),
    );
  body("epochs").replaceChildren(
    chart("throughput", `${count(recent)} tuples/s`, `, ${count(most)} at most`, (e) => e.tuples),
    chart(
      "an epoch",
      `${count((1000 * last.seconds) / last.epochs)} ms`,
      `, ${count(1000 * Math.max(...b.map((e) => e.slowest)))} at most: ${phases}`,
      (e) => e.seconds / e.epochs,
    ),
    chart("state", `${bytes(last.bytes)}, ${plural(last.rows, "row")}`, "", (e) => e.bytes),
    h("p", { class: "k" }, `from ${clock(Math.min(end(model) - 300, b[0].start))} to ${clock(end(model))}`),
  );
}

function tick() {
  for (const node of document.querySelectorAll("[data-ago]"))
    node.textContent = `${span(now() - node.dataset.ago)} ago`;
  for (const node of document.querySelectorAll("[data-for]")) node.textContent = span(now() - node.dataset.for);
}

function connect() {
  const events = new EventSource("events");
  let ended = false;
  const lose = (is_lost) => {
    $("lost").hidden = !is_lost;
    if (is_lost && !document.body.classList.contains("lost"))
      $("lost").textContent = `connection lost, showing the state of ${clock(Date.now() / 1000)}`;
    document.body.classList.toggle("lost", is_lost);
  };
  const say = (text, bad) => {
    $("connection").textContent = text;
    $("connection").className = bad ? "red" : "";
  };
  events.onopen = () => {
    ended = false;
    lose(false);
    say("live ·");
  };
  events.onerror = () => {
    if (ended) return; // the page of a run ends with it
    lose(true);
    say("connection lost, an older state is shown · tried again each second ·", true);
  };
  events.onmessage = (event) => draw(JSON.parse(event.data));
  events.addEventListener("farewell", () => {
    ended = true;
    say("the run has ended ·", Boolean(state.model?.run) && failed(state.model));
  });
}

$("try-form").addEventListener("submit", trace);
$("output-form").addEventListener("submit", (e) => {
  e.preventDefault();
  rows();
});
$("output-name").addEventListener("change", rows);
$("output-unit").addEventListener("change", rows);
for (const button of document.querySelectorAll("[data-units]"))
  button.addEventListener("click", () => {
    state.units = button.dataset.units;
    $("output-unit").value = "";
    for (const other of document.querySelectorAll("[data-units]")) other.setAttribute("aria-pressed", other === button);
    rows();
  });
document.addEventListener("keydown", (e) => {
  if (e.target.matches("input, select") || e.ctrlKey || e.metaKey || e.altKey) return;
  const to = { "/": "try-text", m: "members", p: "plan", q: "quarantine" }[e.key];
  if (!to) return;
  e.preventDefault();
  $(to).scrollIntoView();
  ($(to).querySelector("[tabindex], summary, input") || $(to)).focus();
});
let room = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === room || !state.model?.plan) return;
  room = innerWidth;
  plan(state.model.plan);
  accents(state.model);
});
setInterval(tick, 1000);
connect();
