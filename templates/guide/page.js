"use strict";
// Chooses what is visible: all facts are in the page without this script, except boxes and older examples.

const html = document.documentElement;
const root = document.body.dataset.root;
html.classList.add("scripted");

const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "data") Object.assign(made.dataset, value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

// The words of a name, between which a line may end
const breakable = name => name.split(/(?<=_)|(?<=[a-z0-9])(?=[A-Z])/).flatMap((word, at) => (at ? [make("wbr"), word] : [word]));

// A message: its version, the one that it is compared with, and the field under the pointer

class Message {
  constructor(article) {
    this.article = article;
    this.part = article.dataset.part;
    this.data = JSON.parse(article.querySelector("script.data").textContent);
    this.fields = [...article.querySelectorAll(".fields tbody tr")];
    this.radios = [...article.querySelectorAll(".bar input")];
    this.select = article.querySelector(".compare select");
    this.grammar = article.querySelector(".grammars");
    this.boxes = article.querySelector(".boxes");
    this.fields.forEach((tr, field) => { tr.dataset.field = field; });
    for (const { rows } of this.data.layouts) for (const row of rows) row[1] = this.data.kinds[row[1]];
    this.readExample();
    this.listSections();
    this.pinned = false;
    article.querySelector(".actions").hidden = false;
    for (const radio of this.radios) {
      radio.closest("label").title = this.data.versions[radio.value][1];
      radio.addEventListener("change", () => this.link());
    }
    if (this.select) {
      this.select.append(...this.radios.map(({ value }) => make("option", { value }, value)));
      this.select.closest("label").hidden = false;
      this.select.addEventListener("change", () => this.link());
    }
    this.grammar.addEventListener("toggle", () => this.drawGrammar());
    this.links = [...article.querySelectorAll("a[href^='#']")].map(link => [link, link.hash.slice(1)]).filter(([, hash]) => {
      const found = parsed(hash);
      return found.part === this.part && found.version === undefined;
    });
    article.addEventListener("pointerover", event => this.pinned || this.light(event.target));
    article.addEventListener("pointerleave", () => this.pinned || this.light(null));
    article.addEventListener("focusin", event => this.pinned || this.light(event.target));
    article.addEventListener("click", event => this.click(event));
  }

  // The newest example is in the page.
  readExample() {
    const text = found => found.textContent;
    const example = this.data.examples[this.data.versions[this.data.newest][2]];
    example.origin = text(this.article.querySelector(".origin"));
    example.hex = [...this.article.querySelectorAll(".hex code")].map(text).join("").replaceAll(" ", "");
    example.spans = [...this.article.querySelectorAll(".spans tbody tr")].map((tr, span) => {
      const [start, name, kind, value] = [...tr.cells].map(text);
      return [start ? Number(start) : -1, Number(tr.className.slice("depth-".length)), name, kind || name, value, example.fields[span]];
    });
  }

  listSections() {
    const links = [...this.article.querySelectorAll("h3")].map(({ id, textContent }) => make("a", { href: `#${id}` }, textContent.split(":")[0]));
    this.article.querySelector(".sections").append(...links.flatMap(link => [" · ", link]).slice(1));
  }

  place(version, other) { return place(this.part, version, other); }

  get chosen() { return this.radios.find(radio => radio.checked)?.value ?? String(this.data.newest); }

  // A choice changes the address and leaves no entry in the history: links do that.
  link() {
    history.replaceState(null, "", `#${this.place(this.chosen, this.select?.value)}`);
    follow();
  }

  show(version, other) {
    const known = value => value in this.data.versions;
    this.version = known(version) ? version : String(this.data.newest);
    this.other = known(other) && other !== this.version ? other : "";
    const [layout, facts, example] = this.data.versions[this.version];
    this.layout = this.data.layouts[layout];
    this.example = this.data.examples[example];
    for (const radio of this.radios) radio.checked = radio.value === this.version;
    if (this.select) this.select.value = this.other;
    const label = this.radios.find(radio => radio.checked).closest("label");
    label.parentElement.scrollLeft = label.offsetLeft - label.parentElement.clientWidth / 2;
    const changes = this.compare();
    const told = this.other ? `; compared with version ${this.other}: ${changes}` : "";
    this.article.querySelector(".facts").textContent = `Version ${this.version}: ${facts}${told}`;
    this.drawGrammar();
    this.drawFields();
    this.drawBytes();
    for (const [link, hash] of this.links) this.aim(link, hash);
    this.pinned = false;
    this.light(null);
  }

  // The version that is so many places further in the bar
  step(places) {
    const at = this.radios.findIndex(radio => radio.checked) + places;
    if (!this.radios[at]) return;
    this.radios[at].checked = true;
    this.link();
  }

  // Links within the message keep the version: #request-bytes is #request-v12-bytes now.
  aim(link, hash) { link.href = `#${this.place(this.version, this.other)}${hash.slice(this.part.length)}`; }

  compare() {
    const now = new Map(this.layout.rows.map(row => [row[0], row]));
    const then = this.other ? this.data.layouts[this.data.versions[this.other][0]].rows : this.layout.rows;
    const before = new Map(then.map(row => [row[0], row]));
    const count = { added: 0, gone: 0, changed: 0 };
    this.state = this.fields.map((_, field) => {
      const [a, b] = [before.get(field), now.get(field)];
      const state = !a && b ? "added" : a && !b ? "gone" : a && b && a[1] !== b[1] ? "changed" : "";
      if (state) count[state] += 1;
      return { state, row: b ?? a, before: a, present: Boolean(b) };
    });
    const [low, high] = [Number(this.other), Number(this.version)].sort((a, b) => a - b);
    for (const one of this.article.querySelectorAll(".history [data-version]")) {
      const version = Number(one.dataset.version);
      const between = Boolean(this.other) && low < version && version <= high;
      one.classList.toggle("between", between);
      if (between) unfolded(one);
    }
    const told = Object.entries({ added: count.added, removed: count.gone, changed: count.changed });
    const differences = told.filter(([, many]) => many).map(([what, many]) => `${many} ${what}`).join(", ");
    const [a, b] = [this.version, this.other || this.version].map(one => this.data.layouts[this.data.versions[one][0]]);
    return differences || (a === b ? "the same bytes" : "the same fields, but only one of them is flexible");
  }

  // The grammar and the boxes of the chosen version, once they are unfolded
  drawGrammar() {
    if (!this.grammar.open || !this.layout) return;
    const chosen = String(this.data.versions[this.version][0]);
    for (const one of this.grammar.querySelectorAll("[data-layout]")) {
      const shown = one.dataset.layout === chosen;
      one.classList.toggle("shown", shown);
      if (!shown) continue;
      const pre = one.querySelector("pre");
      if (!pre.querySelector(".line")) pre.replaceChildren(...pre.textContent.trimEnd().split("\n").map((line, number) => this.line(line, number)));
      copyable(pre);
      for (const line of pre.querySelectorAll(".line")) {
        line.classList.remove("added", "gone", "changed");
        const state = this.state[line.dataset.field]?.state;
        if (state) line.classList.add(state);
      }
    }
    this.drawBoxes();
  }

  line(text, number) {
    const field = number ? this.layout.rows[number - 1][0] : -1;
    const [, indent, name, rest] = /^( *)([a-z0-9_]*)(.*)$/.exec(text);
    const pieces = rest.split(/(\b[A-Z][A-Z0-9_]+\b)/).map((piece, index) => {
      if (index % 2 === 0) return piece;
      return make("span", { class: piece === "TAG_BUFFER" ? "tags" : "word" }, piece);
    });
    const named = field >= 0 ? make("a", {}, name) : name;
    if (field >= 0) {
      this.links.push([named, this.fields[field].id]);
      this.aim(named, this.fields[field].id);
    }
    return make("span", { class: "line", data: { field } }, indent, named, ...pieces, "\n");
  }

  drawFields() {
    const signs = { added: "+", gone: "−", changed: "~" };
    this.lives();
    this.fields.forEach((tr, field) => {
      const { state, row, before, present } = this.state[field];
      tr.classList.remove("added", "gone", "changed");
      tr.classList.toggle("absent", !present);
      if (state) tr.classList.add(state);
      tr.querySelector(".mark")?.remove();
      if (state) tr.querySelector("th").prepend(make("span", { class: "mark", "aria-hidden": "true" }, signs[state]));
      const type = tr.querySelector(".type");
      type.replaceChildren(...(state === "changed" ? [make("del", {}, before[1]), " "] : []), row?.[1] ?? "");
      tr.querySelector(".size").textContent = row ? `${row[2]} byte${row[2] === "1" ? "" : "s"}` : "";
    });
  }

  // Beside fields that some versions lack: a bar with a part for each version
  lives() {
    if (this.drawn) return;
    this.drawn = true;
    const versions = Object.values(this.data.versions);
    const having = this.data.layouts.map(layout => new Set(layout.rows.map(row => row[0])));
    this.fields.forEach((tr, field) => {
      const has = versions.map(([layout]) => having[layout].has(field));
      if (has.every(Boolean)) return;
      const part = at => `${(100 * at) / has.length}%`;
      const stops = has.map((one, at) => `var(--${one ? "good" : "line"}) ${part(at)} ${part(at + 1)}`);
      const bar = make("i", { class: "life", "aria-hidden": "true" });
      bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
      bar.style.width = `${Math.min(has.length * 0.4, 8)}em`;
      tr.querySelector(".meta").append(bar);
    });
  }

  name(field) { return this.fields[field].querySelector("a").textContent; }

  drawBoxes() {
    const { boxes } = this;
    const around = [boxes];
    boxes.hidden = !this.layout.rows.length;
    boxes.replaceChildren();
    for (const [field, type, size, depth] of this.layout.rows) {
      const inner = make("div", { class: "inner" });
      const tagged = type.includes(" · tag ") ? " tagged" : "";
      const box = make("div", { class: `box${tagged}`, title: type, data: { field } }, this.name(field), make("span", { class: "size" }, size), inner);
      around[depth].append(box);
      around.length = depth + 1;
      around.push(inner);
    }
    for (const inner of boxes.querySelectorAll(".inner:empty")) inner.remove();
  }

  drawBytes() {
    const { hex, spans, origin, command } = this.example;
    const size = hex.length / 2;
    this.article.querySelector(".origin").textContent = origin;
    const before = this.article.querySelector(".before");
    if (before) before.textContent = size.toString(16).padStart(8, "0").match(/../g).join(" ");
    const owners = new Array(size);
    spans.forEach(([start], number) => { if (start >= 0) owners.fill(number, start); });
    const dump = [];
    for (let start = 0; start < size; start += 16) {
      const line = make("div", {}, make("span", { class: "offset" }, String(start)));
      for (let at = start; at < Math.min(start + 16, size); at += 1) {
        const span = owners[at];
        line.append(make("b", { class: span % 2 ? "uneven" : "even", data: { span } }, hex.slice(2 * at, 2 * at + 2)));
      }
      dump.push(line);
    }
    this.article.querySelector(".hex").replaceChildren(...dump);
    const rows = spans.map(([start, depth, given, type, text, field], span) => {
      const [name, kind] = [given || this.name(field), typeof type === "number" ? this.data.kinds[type] : type];
      return make("tr", { class: `depth-${Math.min(depth, 12)}`, data: { span, owner: field } },
        make("td", {}, start < 0 ? "" : String(start)), make("th", { scope: "row" }, ...breakable(name)),
        make("td", {}, kind === name ? "" : kind), make("td", {}, text));
    });
    this.article.querySelector(".spans tbody").replaceChildren(...rows);
    this.article.querySelector(".command").textContent = `${command} ${hex}`;
  }

  light(target) {
    for (const lit of this.article.querySelectorAll(".lit")) lit.classList.remove("lit");
    const found = target?.closest?.("[data-span], [data-field]");
    if (!found || !this.article.contains(found)) return;
    const { spans } = this.example;
    let field = Number(found.dataset.field ?? -1);
    let lit = [];
    if (found.dataset.span !== undefined && Number(found.dataset.span) >= 0) {
      const span = Number(found.dataset.span);
      [, , , , , field] = spans[span];
      lit = [span];
    } else if (field >= 0) {
      lit = spans.flatMap((span, number) => (span[5] === field ? [number] : []));
    }
    for (const span of lit) {
      for (const one of this.article.querySelectorAll(`[data-span="${span}"]`)) one.classList.add("lit");
    }
    if (field < 0) return;
    for (const one of this.article.querySelectorAll(`[data-field="${field}"]`)) one.classList.add("lit");
  }

  click(event) {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      copied(copy.dataset.copy === "hex" ? this.example.hex : this.article.querySelector(".command").textContent, copy);
    } else if (event.target.closest("[data-span], .line, .box")) {
      this.pinned = !this.pinned;
      this.light(event.target);
    }
  }
}

// Copying: bytes and commands, every block of code, and the link of a field

async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages that are opened as files may lack the clipboard: copy a selection instead.
    const area = make("textarea", { readonly: "", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.dataset.told = button.dataset.told ?? button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = button.dataset.told; }, 2000);
}

// Of a console, the commands without prompts; other text as it is.
function commands(text) {
  if (!/^\$ /m.test(text)) return text;
  let continued = false;
  const lines = text.split("\n").filter(line => {
    const kept = continued || line.startsWith("$ ");
    continued = kept && line.endsWith("\\");
    return kept;
  });
  return lines.map(line => line.replace(/^\$ /, "")).join("\n");
}

function copyable(pre) {
  if (pre.parentElement.matches(".code")) return;
  const button = make("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => {
    copied(commands(pre.textContent), button);
  });
  const box = make("div", { class: "code" });
  pre.replaceWith(box);
  box.append(pre, button);
}
for (const pre of document.querySelectorAll("main pre")) if (!pre.closest(".grammars")) copyable(pre);

const pilcrow = make("button", { type: "button", class: "pilcrow", "aria-label": "Copy the link of this field" }, "¶");
pilcrow.addEventListener("click", () => copied(pilcrow.previousElementSibling.href, pilcrow));
for (const table of document.querySelectorAll(".fields table")) {
  for (const kind of ["pointerover", "focusin"]) {
    table.addEventListener(kind, event => {
      const link = event.target.closest("tbody tr")?.querySelector("th > a");
      if (link && link.nextElementSibling !== pilcrow) link.after(pilcrow);
    });
  }
}

// The part of the address after #: request, request-v12, request-v12-vs-11, each with -bytes or .topics.partitions

function place(part, version, other) { return `${part}-v${version}${other ? `-vs-${other}` : ""}`; }

function parsed(hash) {
  const [, part, version, other, section, place] = /^(\w+)(?:-v(\d+)(?:-vs-(\d+))?)?(?:-([a-z]+)|\.(.+))?$/.exec(hash) ?? [];
  return { part, version, other: other ?? "", section, place };
}

const messages = [...document.querySelectorAll("article.message")].map(article => new Message(article));
const halves = new Set(["request", "response"]);  // which have their versions in common
const parts = [...document.querySelectorAll(".parts a")];

// The places of anchors are below what stays at the top of the window. Of the bar, only the versions stay on a phone.
const header = document.querySelector(".top");
const narrow = matchMedia("(max-width: 60rem)");
function clear() {
  const bar = document.querySelector("article.current .bar");
  const kept = !bar ? 0 : narrow.matches ? bar.querySelector(".versions").offsetHeight + 9 : bar.offsetHeight;
  if (bar) bar.style.top = `${header.offsetHeight - bar.offsetHeight + kept}px`;
  html.style.scrollPaddingTop = `${header.offsetHeight + kept + 8}px`;
}
const sizes = new ResizeObserver(clear);
for (const one of document.querySelectorAll(".top, .bar")) sizes.observe(one);

function unfolded(target) {
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
}

function follow() {
  const hash = location.hash.slice(1);
  const { part, version, other, section, place: path } = parsed(hash);
  const found = messages.find(one => one.part === part);
  const current = found ?? messages.find(one => one.article.classList.contains("current")) ?? messages[0];
  if (!current) return;
  for (const one of messages) one.article.classList.toggle("current", one === current);
  if (version !== undefined) current.show(version, other);
  else current.show(current.version ?? String(current.data.newest), current.other ?? "");
  const kept = part => (part === current.part || (halves.has(part) && halves.has(current.part)) ? place(part, current.version, current.other) : part);
  for (const link of parts) {
    if (link.dataset.part === current.part) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    link.href = `#${kept(link.dataset.part)}`;
  }
  for (const link of current.article.querySelectorAll("a.other")) link.href = `#${kept(link.dataset.part)}-bytes`;
  clear();
  const ending = path ? `.${path}` : section ? `-${section}` : "";
  const target = document.getElementById(found && ending ? `${part}${ending}` : hash);
  if (!target || target === current.article) return;
  unfolded(target);
  target.scrollIntoView();
  if (path && found) {
    target.classList.remove("absent");
    current.light(target);
  }
}
if (messages.length) {
  addEventListener("hashchange", follow);
  follow();
}

// Anchors of Kafka's own page, on the index: #The_Messages_Fetch

if (location.hash.startsWith("#The_Messages_")) {
  const row = document.getElementById(location.hash.slice(1));
  if (row) location.replace(row.querySelector("a").href);
}

// What cells of releases mean, under the pointer

document.addEventListener("pointerover", event => {
  const cell = event.target.closest?.(".grid td");
  if (cell && !cell.title) cell.title = cell.textContent;
});

// The list of pages, on narrow screens

const menu = document.getElementById("menu");
const side = document.getElementById("side");
const unfold = open => {
  side.classList.toggle("open", open);
  menu.textContent = open ? "✕" : "☰";
  menu.setAttribute("aria-expanded", String(open));
};
menu.hidden = false;
menu.addEventListener("click", () => unfold(!side.classList.contains("open")));
document.addEventListener("click", event => {
  if (event.target.closest("#side a") || !event.target.closest("#side, #menu")) unfold(false);
});
document.addEventListener("keydown", event => {
  if (event.key !== "Escape" || !side.classList.contains("open")) return;
  unfold(false);
  menu.focus();
});

// The filters of tables

const filters = [...document.querySelectorAll("[data-filter]")];
if (filters.length) {
  document.querySelector(".filters").hidden = false;
  const rows = [...document.querySelectorAll("tr[data-name]")];
  const empty = document.querySelector(".clear");
  const matches = (row, { dataset: { filter }, value }) => {
    if (!value) return true;
    const text = row.dataset[filter];
    return filter === "name" ? text.toLowerCase().includes(value.toLowerCase()) : text.split(",").includes(value);
  };
  const apply = () => {
    for (const row of rows) row.hidden = !filters.every(one => matches(row, one));
    for (const group of document.querySelectorAll("tr.group")) group.hidden = !group.parentElement.querySelector("tr[data-name]:not([hidden])");
    const shown = rows.filter(row => !row.hidden).length;
    document.querySelector(".shown").textContent = shown ? `${shown} of ${rows.length}` : `none of ${rows.length} matches`;
    empty.hidden = filters.every(one => !one.value);
  };
  for (const one of filters) one.addEventListener("input", apply);
  empty.addEventListener("click", () => { for (const one of filters) one.value = ""; apply(); });
  apply();
}

// Search, whose index is loaded when the box is first used

const searching = document.querySelector(".search");
const box = make("input", {
  "type": "text", "inputmode": "search", "id": "search", "autocomplete": "off", "autocapitalize": "off", "spellcheck": "false",
  "placeholder": searching.dataset.hint ?? "Search   /", "aria-label": "Search", "role": "combobox", "aria-expanded": "false",
  "aria-controls": "hits", "aria-autocomplete": "list",
});
const hits = make("div", { id: "hits", role: "listbox", "aria-label": "Search results", hidden: "" });
const found = make("p", { id: "found", class: "hide", role: "status" });
searching.append(box, hits, found);
let index = null;
let loaded = false;
let chosen = -1;
let entered = false;

const load = name => new Promise((resolve, reject) => {
  const script = make("script", { src: `${root}assets/${name}` });
  script.addEventListener("load", resolve);
  script.addEventListener("error", reject);
  document.head.append(script);
});

function loading() {
  index ??= (async () => {
    await Promise.all(["minisearch.js", "find.js", "search.js"].map(load));
    const made = finder(window.kwireSearch, MiniSearch);
    await made.ready;
    loaded = true;
    return made;
  })().catch(() => { index = null; }); // the next search tries again
  return index;
}

async function search() {
  const text = box.value.trim();
  if (!text) return close();
  if (!loaded) {
    hits.replaceChildren(make("p", {}, "Loading…"));
    open();
  }
  const made = await loading();
  if (text !== box.value.trim()) return;
  if (!made) return hits.replaceChildren(make("p", {}, "The search could not be loaded"));
  list(made.find(text));
  if (entered) options()[0]?.click();
  entered = false;
}

const options = () => [...hits.querySelectorAll("[role=option]")];

function list(groups) {
  const count = groups.reduce((sum, group) => sum + group.hits.length, 0);
  let number = 0;
  hits.replaceChildren(...groups.map(({ title, hits: some }) => {
    const head = make("div", { class: "head", "aria-hidden": "true" }, title);
    return make("div", { role: "group", "aria-label": title }, head, ...some.map(({ path, name, place, doc, all }) => {
      const more = all ? { "aria-description": "shows all of them" } : {};
      const link = make("a", { role: "option", id: `hit-${number += 1}`, "aria-selected": "false", href: root + path, tabindex: "-1", ...more },
        make("b", {}, name), ` ${place}${all ? " ▸" : ""}`, ...(doc && !all ? [make("span", { class: "doc" }, doc)] : []));
      if (all) {
        link.addEventListener("click", event => {
          event.preventDefault();
          event.stopPropagation();
          list([{ title, hits: all }]);
          box.focus();
        });
      }
      return link;
    }));
  }));
  if (!count) hits.append(make("p", {}, "Nothing found"));
  found.textContent = count ? `${count} results` : "Nothing found";
  open();
  choose(count ? 0 : -1);
}

function open() {
  hits.hidden = false;
  box.setAttribute("aria-expanded", "true");
}

function choose(number) {
  chosen = number;
  const all = options();
  all.forEach((hit, at) => hit.setAttribute("aria-selected", String(at === number)));
  if (number < 0) box.removeAttribute("aria-activedescendant");
  else {
    box.setAttribute("aria-activedescendant", all[number].id);
    all[number].scrollIntoView({ block: "nearest" });
  }
}

function close() {
  hits.hidden = true;
  box.setAttribute("aria-expanded", "false");
  choose(-1);
  document.body.classList.remove("searching");
}

box.addEventListener("focus", loading);
box.addEventListener("input", search);
box.addEventListener("keydown", event => {
  const count = options().length;
  if (event.key === "ArrowDown" && count) choose((chosen + 1) % count);
  else if (event.key === "ArrowUp" && count) choose((chosen - 1 + count) % count);
  else if (event.key === "Enter" && !loaded && box.value.trim()) { entered = true; loading(); }
  else if (event.key === "Enter" && chosen >= 0) options()[chosen].click();
  else if (event.key === "Escape") { box.value = ""; close(); }
  else return;
  event.preventDefault();
});
hits.addEventListener("click", event => { if (event.target.closest("a")) close(); });
document.addEventListener("click", event => { if (!event.target.closest(".search, #find")) close(); });

const find = document.getElementById("find");
find.hidden = false;
find.addEventListener("click", () => {
  document.body.classList.add("searching");
  box.focus();
  box.scrollIntoView({ block: "nearest" });
});

// Keys

const KEYS = [["/", "search"], ["[ and ]", "older and newer version"], ["r", "request or response"], ["?", "this list"]];

function help() {
  const rows = KEYS.map(([key, meaning]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, key)), make("td", {}, meaning)));
  const done = make("button", { type: "button" }, "Close");
  const dialog = make("dialog", { "aria-label": "Keys" }, make("table", {}, make("tbody", {}, ...rows)), done);
  done.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const ACTIONS = {
  "/": () => { document.body.classList.add("searching"); box.focus(); },
  "[": () => shown()?.step(-1),
  "]": () => shown()?.step(1),
  "r": () => parts.find(link => !link.hasAttribute("aria-current"))?.click(),
  "?": help,
};
const shown = () => messages.find(one => one.article.classList.contains("current"));
document.addEventListener("keydown", event => {
  const typing = event.target.closest("input:not([type=radio]), select, textarea, dialog");
  const action = ACTIONS[event.key];
  if (!action || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});

for (const drawing of document.querySelectorAll(".drawing")) {
  const light = event => {
    const field = event.type === "mouseleave" ? undefined : event.target.closest("[data-field]")?.dataset.field;
    for (const part of drawing.querySelectorAll("[data-field]")) part.classList.toggle("lit", part.dataset.field === field);
  };
  drawing.addEventListener("mouseover", light);
  drawing.addEventListener("mouseleave", light);
}
