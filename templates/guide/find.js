"use strict";
// Finds entries of the search: what the search box shows, without a page. Node runs it in tests.

const GROUPS = ["Chapters", "APIs and messages", "Types, enums and releases", "Fields", "Errors", "Documentation"];
const [CHAPTER, API, TABLE, FIELD, ERROR, DOCUMENT] = GROUPS.keys();
const [PATH, NAME, PLACE, MORE, DOC, WEIGHT, GROUP] = [0, 1, 2, 3, 4, 5, 6];
const SHOWN = 5;
const IDLE = new Set("a an and are as at be by can did do does for from how i in is it must my of on or s should that the this to was will what when which who why with".split(" "));

// Words of a text. The sign of a number belongs to it, and so do the points of a release: -2, 4.0.1.
function words(text) {
  const found = text.replace(/(^|[\s(,=:])[-−](?=\d)/g, "$1minus").replace(/(\d)\.(?=\d)/g, "$1·");
  return found.split(/[\s_.,:;()[\]{}<>"'`/–\-?!=+*#|…]+|(?<=[a-z0-9])(?=[A-Z])/).filter(Boolean);
}

// The stem of a word: "ordering", "ordered" and "orders" are found by "order".
function stem(word) {
  if (/\d/.test(word)) return word;
  let text = word.replace(/(?<=..[^su])s$|(?<=(?:ss|x|ch|sh))es$/, "");
  text = text.replace(/(?<=...)(?:ing|ed)$/, "");
  text = text.replace(/(?<=...[^e])er$|(?<=...)e$/, "");
  return text.replace(/([bdgmnprt])\1$/, "$1");
}

const plain = text => text.toLowerCase().replace(/[\s_-]+/g, "");

// All entries: paths that begin with an anchor are on the page of the entry before, and fields have none of their own.
function expanded({ entries, fields }) {
  let page = "";
  const others = entries.map(([path, ...rest]) => {
    if (!path.startsWith("#")) page = path.split("#")[0];
    return [path.startsWith("#") ? page + path : path, ...rest];
  });
  const rows = Object.entries(fields).flatMap(([start, [message, found]]) => found.map(([place, former, doc]) =>
    [start + place, place.split(".").at(-1), `in ${message}`, former, doc, 1, FIELD]));
  return [...others, ...rows];
}

function finder(data, MiniSearch) {
  const { synonyms, apis } = data;
  const entries = expanded(data);
  const index = new MiniSearch({
    fields: ["name", "place", "more", "doc"],
    tokenize: words,
    processTerm: term => { const word = term.toLowerCase(); return [...new Set([word, stem(word)])]; },
    searchOptions: {
      boost: { name: 6, more: 3, place: 2 },
      processTerm: term => stem(term.toLowerCase()),
      boostDocument: id => entries[id][WEIGHT],
    },
  });
  const ready = index.addAllAsync(entries.map(([, name, place, more, doc], id) => ({ id, name, place, more, doc })));

  const isDocument = ({ id }) => entries[id][GROUP] === DOCUMENT;

  // All words as they begin, else two thirds of them in the guide, else what only documentation has, else with mistakes
  function matches(text) {
    const kept = words(text).filter(word => !IDLE.has(word.toLowerCase()));
    const query = kept.length ? kept.join(" ") : text;
    const prefix = (term, at, terms) => at === terms.length - 1 && !/^\d+$/.test(term);
    const fuzzy = term => (term.length > 3 && !/\d/.test(term) ? (term.length > 5 ? 0.3 : 0.25) : false);
    const all = options => index.search(query, { prefix, combineWith: "AND", ...options });
    const some = options => index.search(query, { prefix, boost: { name: 2, more: 1 }, ...options })
      .map(({ id, score, queryTerms }) => ({ id, score: score * queryTerms.length ** 3, count: queryTerms.length }));
    const whole = all({});
    if (!whole.every(isDocument)) return whole;
    const most = some({});
    const count = Math.max(0, ...most.filter(one => !isDocument(one)).map(one => one.count));
    if (count > 1 && count >= kept.length * 2 / 3) return most;
    return [() => whole, () => all({ fuzzy }), () => most, () => some({ fuzzy })].reduce((found, next) => (found.length ? found : next()), []);
  }

  // The name itself, its beginning for what has a name of its own, anything else
  function rank(entry, wanted) {
    const name = plain(entry[NAME]);
    const of = entry[GROUP] === FIELD ? plain(entry[PLACE].replace(/^in |(Request|Response)$/g, "")) : "";
    if (name === wanted || of + name === wanted) return 0;
    return name.startsWith(wanted) && [API, TABLE, ERROR].includes(entry[GROUP]) ? 1 : 2;
  }

  function ranked(text) {
    const best = new Map();
    for (const query of meant(text)) {
      const wanted = plain(query);
      for (const { id, score } of matches(query)) {
        const found = [rank(entries[id], wanted), -score];
        const known = best.get(id);
        if (!known || found[0] < known[0] || (found[0] === known[0] && found[1] < known[1])) best.set(id, found);
      }
    }
    return [...best].sort(([a, [r, s]], [b, [q, t]]) => r - q || s - t || a - b).map(([id]) => entries[id]);
  }

  // What a reader may mean: the text, or the guide's words for it, with the rest of the text, and alone if the rest is long
  function meant(text) {
    const lower = ` ${text.toLowerCase().replace(/[?!"]/g, "").replace(/\s+/g, " ")} `;
    const phrase = Object.keys(synonyms).filter(words => lower.includes(` ${words} `)).sort((a, b) => b.length - a.length)[0];
    if (phrase === undefined) return [text];
    const others = synonyms[phrase].split(",").map(other => other.trim());
    const alone = lower.trim().split(" ").length > phrase.split(" ").length + 1 ? others : [];
    return [...others.map(other => lower.replace(` ${phrase} `, ` ${other} `).trim()), ...alone];
  }

  // "Fetch 16", "Fetch 11 16" and "Fetch 3.9.2" are versions and releases of an API, which are no entries.
  function versions(text) {
    const [, api, numbers] = /^(.*?[^\d-])\s*\bv?(\d+(?:\.\d+)+|\d+(?:\D+\d+)?)$/i.exec(text) ?? [];
    const names = (api ?? "").split(/\s+/).map(word => plain(word).replace(/(request|response)$/, "")).filter(Boolean);
    const page = entries.find(([path, name]) => /^api\/\w+\.html$/.test(path) && names.includes(plain(name)));
    if (!page) return [];
    const hit = (anchor, place) => ["request", "response"].map(part => ({ path: `${page[PATH]}#${part}-${anchor}`, name: `${page[NAME]} ${part}`, place, doc: page[DOC] }));
    if (/\.\d/.test(numbers)) return hit("releases", "which releases accept which versions");
    const [low, high] = numbers.match(/\d+/g).map(Number).sort((a, b) => a - b);
    return high === undefined ? hit(`v${low}`, `version ${low}`) : hit(`v${high}-vs-${low}`, `version ${high}, compared with ${low}`);
  }

  // "KIP-511 client software" is that proposal, whatever is said of it.
  function proposals(text) {
    const number = /\bkip[- ]?(\d+)\b./i.exec(text)?.[1];
    return entries.filter(([, name]) => name === `KIP-${number}`).map(hit);
  }

  // The header of a request in hexadecimal digits, with or without the size before it
  function header(text) {
    const digits = text.replace(/^0x|[\s:]/gi, "");
    if (!/^(?:[0-9a-f]{2}){4,}$/i.test(digits)) return [];
    const bytes = Uint8Array.from(digits.match(/../g), pair => parseInt(pair, 16));
    const whole = new DataView(bytes.buffer).getInt32(0) === bytes.length - 4;
    const read = start => request(new DataView(bytes.buffer, start));
    const found = whole ? read(4) : read(0) ?? (bytes.length >= 8 ? read(4) : null);
    return found ? [found] : [];
  }

  function request(view) {
    if (view.byteLength < 4) return null;
    const [key, version] = [view.getInt16(0), view.getInt16(2)];
    const [path, name, low, headers] = apis[key] ?? [];
    const kind = headers?.[version - low];
    if (kind === undefined) return null;
    const told = [`header ${kind}`];
    if (view.byteLength >= 8) told.push(`correlation id ${view.getInt32(4)}`);
    if (kind !== "0" && view.byteLength >= 10) {
      const size = view.getInt16(8);
      const client = new Uint8Array(view.buffer, view.byteOffset + 10, Math.max(0, Math.min(size, view.byteLength - 10)));
      told.push(size < 0 ? "no client id" : `client id ${JSON.stringify(new TextDecoder().decode(client))}`);
    }
    return { path: `${path}#request-v${version}-bytes`, name: `${name} request, version ${version}`, place: told.join(", "), doc: "" };
  }

  // "-2" and "ListOffsets -2" are values of enums.
  function values(text) {
    const value = /(?:^|\s)[-−](\d+)$/.exec(text)?.[1];
    if (value === undefined) return [];
    const others = words(text).slice(0, -1).map(word => stem(word.toLowerCase()));
    const fits = entry => others.every(word => words(`${entry[MORE]} ${entry[PLACE]} ${entry[NAME]}`).some(known => stem(known.toLowerCase()) === word));
    return entries.filter(entry => entry[PATH].startsWith("enums.html#") && entry[MORE].split(" ")[0] === `-${value}` && fits(entry)).map(hit);
  }

  const hit = ([path, name, place, , doc]) => ({ path, name, place, doc: doc.slice(0, 240) });

  // Fields of one name are one line, which stands for all of them.
  function folded(found) {
    const names = new Map();
    for (const entry of found) names.set(entry[NAME], [...(names.get(entry[NAME]) ?? []), entry]);
    return [...names].map(([name, same]) => {
      if (same.length === 1) return hit(same[0]);
      const messages = new Set(same.map(entry => entry[PLACE].replace(/^in /, "")));
      const place = messages.size > 3 ? `in ${messages.size} messages` : `in ${[...messages].join(", ")}`;
      return { ...hit(same[0]), place, all: same.map(hit) };
    });
  }

  // Groups of at most five hits each; a hit with `all` stands for these. The best group comes first, documentation last.
  function find(given) {
    const text = given.trim().replace(/\borg\.apache\.kafka\.(\w+\.)*/g, "").replace(/Exception\b/g, "");
    if (!text) return [];
    const groups = [];
    const direct = [...header(text), ...versions(text), ...values(text), ...proposals(text)];
    if (direct.length) groups.push({ title: "Meant", hits: direct.slice(0, SHOWN) });
    const all = ranked(text);
    for (const group of [...new Set(all.map(entry => entry[GROUP]))].sort((a, b) => (a === DOCUMENT) - (b === DOCUMENT))) {
      const found = all.filter(entry => entry[GROUP] === group);
      const hits = group === FIELD ? folded(found) : found.map(hit);
      const rest = hits.length - SHOWN;
      const more = { path: hits[0].path, name: `${rest} more`, place: GROUPS[group].toLowerCase(), doc: "", all: hits };
      groups.push({ title: GROUPS[group], hits: rest > 0 ? [...hits.slice(0, SHOWN), more] : hits });
    }
    return groups;
  }

  return { ready, find };
}

if (typeof module === "object") module.exports = { finder, stem, words };
