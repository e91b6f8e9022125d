// Prints what the search finds for each query of the standard input: groups with their titles and hits. With the
// second argument "whole", the hits are whole, and the words and stems of each query come along.
const { readFileSync } = require("node:fs");
const [, , folder, whole] = process.argv;
globalThis.window = globalThis;
require(`${folder}/search.js`);
const MiniSearch = require(`${folder}/minisearch.js`);
const { finder, stem, words } = require(`${folder}/find.js`);
const { find, ready } = finder(globalThis.kwireSearch, MiniSearch);
ready.then(() => {
  const queries = JSON.parse(readFileSync(0, "utf-8"));
  const shown = ({ path, name, place, all }) => [path, `${name} ${place}`, (all ?? []).length];
  const told = query => (whole ? { groups: find(query), words: words(query), stems: words(query).map(stem) }
    : find(query).map(({ title, hits }) => [title, hits.map(shown)]));
  process.stdout.write(JSON.stringify(Object.fromEntries(queries.map(query => [query, told(query)]))));
});
