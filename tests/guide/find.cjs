// Prints what the search finds for each query of the standard input: groups with their titles and hits.
const { readFileSync } = require("node:fs");
const [, , folder] = process.argv;
globalThis.window = globalThis;
require(`${folder}/search.js`);
const MiniSearch = require(`${folder}/minisearch.js`);
const { finder } = require(`${folder}/find.js`);
const { find, ready } = finder(globalThis.kwireSearch, MiniSearch);
ready.then(() => {
  const queries = JSON.parse(readFileSync(0, "utf-8"));
  const shown = ({ path, name, place, all }) => [path, `${name} ${place}`, (all ?? []).length];
  const found = queries.map(query => [query, find(query).map(({ title, hits }) => [title, hits.map(shown)])]);
  process.stdout.write(JSON.stringify(Object.fromEntries(found)));
});
