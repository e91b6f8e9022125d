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

// A message: its version, the one that it is compared with, and the field under the pointer

class Message {
  constructor(article) {
    this.article = article;
    this.part = article.dataset.part;
    this.data = JSON.parse(article.querySelector("script.data").textContent);
    this.fields = [...article.querySelectorAll(".fields tbody tr")];
    this.radios = [...article.querySelectorAll(".versions input")];
    this.select = article.querySelector(".compare select");
    this.pinned = false;
    article.querySelector(".layout").hidden = !this.fields.length;
    article.querySelector(".actions").hidden = false;
    for (const radio of this.radios) radio.addEventListener("change", () => this.link());
    this.select.addEventListener("change", () => this.link());
    this.links = [...article.querySelectorAll("a[href^='#']")].map(link => [link, link.hash.slice(1)]).filter(([, hash]) => {
      const found = parsed(hash);
      return found.part === this.part && found.version === undefined;
    });
    article.addEventListener("pointerover", event => this.pinned || this.light(event.target));
    article.addEventListener("pointerleave", () => this.pinned || this.light(null));
    article.addEventListener("focusin", event => this.pinned || this.light(event.target));
    article.addEventListener("click", event => this.click(event));
  }

  place(version, other) { return `${this.part}-v${version}${other ? `-vs-${other}` : ""}`; }

  get chosen() { return this.radios.find(radio => radio.checked)?.value ?? String(this.data.newest); }

  // A choice changes the address and leaves no entry in the history: links do that.
  link() {
    history.replaceState(null, "", `#${this.place(this.chosen, this.select.value)}`);
    follow();
  }

  show(version, other) {
    const known = value => value in this.data.versions;
    this.version = known(version) ? version : String(this.data.newest);
    this.other = known(other) && other !== this.version ? other : "";
    const [layout, facts] = this.data.versions[this.version];
    this.layout = this.data.layouts[layout];
    for (const radio of this.radios) radio.checked = radio.value === this.version;
    this.select.value = this.other;
    const changes = this.compare();
    const told = this.other ? `; compared with version ${this.other}: ${changes}` : "";
    this.article.querySelector(".facts").textContent = `Version ${this.version}: ${facts}${told}`;
    this.drawGrammar(layout);
    this.drawFields();
    this.drawBoxes();
    this.drawBytes();
    for (const [link, hash] of this.links) this.aim(link, hash);
    this.pinned = false;
    this.light(null);
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
      one.classList.toggle("between", Boolean(this.other) && low < version && version <= high);
    }
    const told = Object.entries({ added: count.added, removed: count.gone, changed: count.changed });
    const differences = told.filter(([, many]) => many).map(([what, many]) => `${many} ${what}`).join(", ");
    const [a, b] = [this.version, this.other || this.version].map(one => this.data.layouts[this.data.versions[one][0]]);
    return differences || (a === b ? "the same bytes" : "the same fields, but only one of them is flexible");
  }

  drawGrammar(layout) {
    for (const details of this.article.querySelectorAll(".grammars details")) {
      const shown = details.dataset.layout === String(layout);
      details.classList.toggle("shown", shown);
      details.open = shown;
      if (!shown) continue;
      const pre = details.querySelector("pre");
      if (!pre.querySelector(".line")) pre.replaceChildren(...pre.textContent.trimEnd().split("\n").map((line, number) => this.line(line, number)));
      for (const line of pre.querySelectorAll(".line")) {
        line.classList.remove("added", "gone", "changed");
        const state = this.state[line.dataset.field]?.state;
        if (state) line.classList.add(state);
      }
    }
  }

  line(text, number) {
    const field = number ? this.layout.rows[number - 1][0] : -1;
    const [, indent, name, rest] = /^( *)([a-z0-9_]*)(.*)$/.exec(text);
    const pieces = rest.split(/(\b[A-Z][A-Z0-9_]+\b)/).map((piece, index) => {
      if (index % 2 === 0) return piece;
      return make("span", { class: piece === "TAG_BUFFER" ? "tags" : "word" }, piece);
    });
    const named = field >= 0 ? make("a", {}, name) : name;
    if (field >= 0) this.links.push([named, this.fields[field].id]);
    return make("span", { class: "line", data: { field } }, indent, named, ...pieces, "\n");
  }

  drawFields() {
    const signs = { added: "+", gone: "−", changed: "~" };
    this.fields.forEach((tr, field) => {
      const { state, row, before, present } = this.state[field];
      tr.classList.remove("added", "gone", "changed");
      tr.classList.toggle("absent", !present);
      if (state) tr.classList.add(state);
      tr.querySelector(".mark").textContent = signs[state] ?? "";
      const type = tr.querySelector(".type");
      type.replaceChildren(...(state === "changed" ? [make("del", {}, before[1]), " "] : []), row?.[1] ?? "");
      tr.querySelector(".size").textContent = row?.[2] ?? "";
    });
  }

  name(field) { return this.fields[field].querySelector("a").textContent; }

  drawBoxes() {
    const boxes = this.article.querySelector(".boxes");
    const around = [boxes];
    boxes.replaceChildren();
    for (const [field, type, size, depth] of this.layout.rows) {
      const inner = make("div", { class: "inner" });
      const tagged = type.includes("<tag ") ? " tagged" : "";
      const box = make("div", { class: `box${tagged}`, title: type, data: { field } }, this.name(field), make("span", { class: "size" }, size), inner);
      around[depth].append(box);
      around.length = depth + 1;
      around.push(inner);
    }
    for (const inner of boxes.querySelectorAll(".inner:empty")) inner.remove();
  }

  drawBytes() {
    const { hex, spans, origin, command } = this.layout.example;
    const size = hex.length / 2;
    this.article.querySelector(".origin").textContent = origin;
    this.owners = new Array(size).fill(-1);
    spans.forEach(([start, end], number) => this.owners.fill(number, start, end));
    const dump = [];
    for (let start = 0; start < size; start += 16) {
      const line = make("div", {}, make("span", { class: "offset" }, String(start)));
      for (let at = start; at < Math.min(start + 16, size); at += 1) {
        const span = this.owners[at];
        line.append(make("b", { class: span % 2 ? "uneven" : "even", data: { span } }, hex.slice(2 * at, 2 * at + 2)));
      }
      dump.push(line);
    }
    this.article.querySelector(".hex").replaceChildren(...dump);
    const rows = spans.map(([start, end, depth, name, kind, text, field], span) =>
      make("tr", { class: `depth-${Math.min(depth, 12)}`, data: { span, owner: field } },
        make("td", { class: "at" }, end > start ? String(start) : ""), make("th", { scope: "row" }, name),
        make("td", {}, kind === name ? "" : kind), make("td", { class: "value" }, text)));
    this.article.querySelector(".spans tbody").replaceChildren(...rows);
    this.article.querySelector(".command").textContent = `${command} ${hex}`;
  }

  light(target) {
    for (const lit of this.article.querySelectorAll(".lit")) lit.classList.remove("lit");
    const found = target?.closest?.("[data-span], [data-field]");
    if (!found || !this.article.contains(found)) return;
    const { spans } = this.layout.example;
    let field = Number(found.dataset.field ?? -1);
    let lit = [];
    if (found.dataset.span !== undefined && Number(found.dataset.span) >= 0) {
      const span = Number(found.dataset.span);
      [, , , , , , field] = spans[span];
      lit = [span];
    } else if (field >= 0) {
      lit = spans.flatMap((span, number) => (span[6] === field ? [number] : []));
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
      const text = copy.dataset.copy === "hex" ? this.layout.example.hex : this.article.querySelector(".command").textContent;
      copied(text, this.article.querySelector(".told"));
    } else if (event.target.closest("[data-span], .line, .box")) {
      this.pinned = !this.pinned;
      this.light(event.target);
    }
  }
}

async function copied(text, told) {
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
  told.textContent = "Copied";
  setTimeout(() => { told.textContent = ""; }, 2000);
}

// The part of the address after #: request, request-v12, request-v12-vs-11, each with -bytes or .topics.partitions

function parsed(hash) {
  const [, part, version, other, section, place] = /^(\w+)(?:-v(\d+)(?:-vs-(\d+))?)?(?:-([a-z]+)|\.(.+))?$/.exec(hash) ?? [];
  return { part, version, other: other ?? "", section, place };
}

const messages = [...document.querySelectorAll("article.message")].map(article => new Message(article));
const halves = new Set(["request", "response"]);  // which have their versions in common
const parts = [...document.querySelectorAll(".parts a")];

// The places of anchors are below what stays at the top of the window.
const header = document.querySelector(".top");
function clear() {
  const bar = document.querySelector("article.current .bar");
  const stays = bar && getComputedStyle(bar).position === "sticky";
  html.style.scrollPaddingTop = `${header.offsetHeight + (stays ? bar.offsetHeight : 0) + 8}px`;
}
const sizes = new ResizeObserver(clear);
for (const one of document.querySelectorAll(".top, .bar")) sizes.observe(one);

function follow() {
  const hash = location.hash.slice(1);
  const { part, version, other, section, place } = parsed(hash);
  const found = messages.find(one => one.part === part);
  const current = found ?? messages.find(one => one.article.classList.contains("current")) ?? messages[0];
  if (!current) return;
  for (const one of messages) one.article.classList.toggle("current", one === current);
  if (version !== undefined) current.show(version, other);
  else current.show(current.version ?? String(current.data.newest), current.other ?? "");
  for (const link of parts) {
    const one = messages.find(message => message.part === link.dataset.part);
    if (one === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    const kept = one === current || (halves.has(one.part) && halves.has(current.part));
    link.href = `#${kept ? one.place(current.version, current.other) : one.part}`;
  }
  clear();
  const ending = place ? `.${place}` : section ? `-${section}` : "";
  const target = found && document.getElementById(ending ? `${part}${ending}` : hash);
  if (!target) return;
  target.scrollIntoView();
  if (place) {
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

// The filters of the index

const filters = [...document.querySelectorAll("[data-filter]")];
if (filters.length) {
  document.querySelector(".filters").hidden = false;
  const rows = [...document.querySelectorAll(".keys tbody tr")];
  const matches = (row, { dataset: { filter }, value }) => {
    if (!value) return true;
    const text = row.dataset[filter];
    return filter === "name" ? text.toLowerCase().includes(value.toLowerCase()) : text.split(" ").includes(value) || text === value;
  };
  const apply = () => {
    for (const row of rows) row.hidden = !filters.every(one => matches(row, one));
    document.querySelector(".shown").textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length}`;
  };
  for (const one of filters) one.addEventListener("input", apply);
  apply();
}

// Search, whose index is loaded when the box is first used

const box = document.getElementById("search");
const hits = document.getElementById("hits");
let index = null;
let chosen = -1;

const load = name => new Promise((resolve, reject) => {
  const script = make("script", { src: `${root}assets/${name}` });
  script.addEventListener("load", resolve);
  script.addEventListener("error", reject);
  document.head.append(script);
});
const words = text => text.split(/[\s_.,:;()[\]{}<>"'`/–-]+|(?<=[a-z0-9])(?=[A-Z])/).filter(Boolean);

function loaded() {
  index ??= (async () => {
    await Promise.all([load("minisearch.js"), load("search.js")]);
    const made = new MiniSearch({
      fields: ["name", "place", "more", "doc"],
      idField: "id",
      tokenize: words,
      processTerm: term => term.toLowerCase(),
      searchOptions: {
        boost: { name: 6, more: 3, place: 2 },
        combineWith: "AND",
        prefix: (_, at, terms) => at === terms.length - 1,
        fuzzy: term => (term.length > 4 && !/\d/.test(term) ? 0.15 : false),
        boostDocument: id => window.kwireSearch[id][5],
      },
    });
    await made.addAllAsync(window.kwireSearch.map(([, name, place, more, doc], id) => ({ id, name, place, more, doc })));
    return made;
  })();
  return index;
}

// "Fetch 16", "Fetch 11 16" and "Fetch 3.9.2" are versions and releases of an API, which are no entries of the index.
function versions(text, plain) {
  const [, api, numbers] = /^(.*?\D)\s*\bv?(\d+(?:\.\d+)+|\d+(?:\D+\d+)?)$/i.exec(text) ?? [];
  const names = (api ?? "").split(/\s+/).map(word => plain(word).replace(/(request|response)$/, "")).filter(Boolean);
  const page = window.kwireSearch.find(([path, name]) => /^api\/\w+\.html$/.test(path) && names.includes(plain(name)));
  if (!page) return [];
  const hit = (anchor, told) => ["request", "response"].map(part => [`${page[0]}#${part}-${anchor}`, `${page[1]} ${part}`, told, "", page[4]]);
  if (/\.\d/.test(numbers)) return hit("releases", "which releases accept which versions");
  const [low, high] = numbers.match(/\d+/g).map(Number).sort((a, b) => a - b);
  return high === undefined ? hit(`v${low}`, `version ${low}`) : hit(`v${high}-vs-${low}`, `version ${high}, compared with ${low}`);
}

async function search() {
  const text = box.value.trim();
  const made = await loaded();
  if (text !== box.value.trim()) return;
  const plain = given => given.toLowerCase().replace(/[\s_-]+/g, "");
  const rank = ({ id }) => {  // the name itself, its beginning, anything else
    const name = plain(window.kwireSearch[id][1]);
    return name === plain(text) ? 0 : name.startsWith(plain(text)) ? 1 : 2;
  };
  const all = text ? made.search(text) : [];
  const found = all.length || !text ? all : made.search(text, { combineWith: "OR" });
  const ranked = found.sort((a, b) => rank(a) - rank(b) || b.score - a.score).slice(0, 30);
  const listed = [...versions(text, plain), ...ranked.map(({ id }) => window.kwireSearch[id])];
  hits.replaceChildren(...listed.map(([path, name, place, , doc], number) => {
    const link = make("a", { href: root + path, tabindex: "-1" }, make("b", {}, name), ` ${place}`, make("span", { class: "doc" }, doc));
    return make("li", { role: "option", id: `hit-${number}`, "aria-selected": "false" }, link);
  }));
  if (text && !listed.length) hits.append(make("li", { role: "option", "aria-selected": "false", "aria-disabled": "true" }, "Nothing found"));
  hits.hidden = !text;
  box.setAttribute("aria-expanded", String(!hits.hidden));
  choose(listed.length ? 0 : -1);
}

function choose(number) {
  chosen = number;
  [...hits.children].forEach((hit, at) => hit.setAttribute("aria-selected", String(at === number)));
  if (number < 0) box.removeAttribute("aria-activedescendant");
  else {
    box.setAttribute("aria-activedescendant", `hit-${number}`);
    hits.children[number].scrollIntoView({ block: "nearest" });
  }
}

function close() {
  hits.hidden = true;
  box.setAttribute("aria-expanded", "false");
  choose(-1);
}

box.addEventListener("focus", loaded);
box.addEventListener("input", search);
box.addEventListener("keydown", event => {
  const count = hits.querySelectorAll("a").length;
  if (event.key === "ArrowDown" && count) choose((chosen + 1) % count);
  else if (event.key === "ArrowUp" && count) choose((chosen - 1 + count) % count);
  else if (event.key === "Enter" && chosen >= 0) hits.children[chosen].querySelector("a")?.click();
  else if (event.key === "Escape") { box.value = ""; close(); }
  else return;
  event.preventDefault();
});
hits.addEventListener("click", event => { if (event.target.closest("a")) close(); });
document.addEventListener("click", event => { if (!event.target.closest(".search")) close(); });
document.addEventListener("keydown", event => {
  const typing = event.target.closest("input:not([type=radio]), select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    box.focus();
  }
});

for (const drawing of document.querySelectorAll(".drawing")) {
  const light = event => {
    const field = event.type === "mouseleave" ? undefined : event.target.closest("[data-field]")?.dataset.field;
    for (const part of drawing.querySelectorAll("[data-field]")) part.classList.toggle("lit", part.dataset.field === field);
  };
  drawing.addEventListener("mouseover", light);
  drawing.addEventListener("mouseleave", light);
}
