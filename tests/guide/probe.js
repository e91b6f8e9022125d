// What scripts of tests use in a page: they look as a person would, and tell what they saw.
const one = selector => document.querySelector(selector);
const all = selector => [...document.querySelectorAll(selector)];
const seen = selector => all(selector).filter(found => found.getClientRects().length);
const soon = () => new Promise(done => setTimeout(done, 50));
const until = async test => { for (let tries = 0; tries < 100 && !test(); tries += 1) await soon(); };
const current = () => one("article.current");
const told = selector => current().querySelector(selector).textContent;
const unfolded = async () => { current().querySelector(".grammars").open = true; await soon(); };
const fields = () => [...current().querySelectorAll(".fields tbody tr")].filter(tr => tr.getClientRects().length);
const search = async text => {
  const box = one("#search");
  box.focus();
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  await until(() => !one("#hits").hidden && !["", "Loading…"].includes(one("#hits").textContent));
  await soon();
  const hits = all("#hits a").map(hit => hit.getAttribute("href").replace(/^(\.\.\/)*/, ""));
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  return hits;
};
const tell = result => {
  const names = performance.getEntriesByType("resource").map(entry => entry.name);
  const loaded = names.filter(name => !name.startsWith("file:"));
  const pre = document.createElement("pre");
  pre.id = "told";
  pre.textContent = JSON.stringify({ ...result, loaded });
  document.body.replaceChildren(pre);
};
