"use strict";
// Tables sort by the column whose heading is clicked: by exact values, texts in natural order. Long ones have a search
// field, filters and pages. A row is its cells, each a text or [text, key, layout, mark, address], and its element, which
// is made when the row is shown for the first time.
const ROWS = 100, FEW = 10;

const textOf = cell => typeof cell === "string" ? cell : cell[0];
const valueOf = cell => {
  const key = typeof cell === "string" ? "" : cell[1];
  if (!key) return textOf(cell);
  return key === "nan" ? NaN : isNaN(key) ? key : Number(key);
};
const inOrder = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
const isEmpty = value => value === "" || Number.isNaN(value);
const made = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

const cellMade = cell => {
  const [text, key = "", layout = "", mark = "", address = ""] = typeof cell === "string" ? [cell] : cell;
  const content = mark ? made("span", { className: "mark " + mark }, text)
    : address ? made("a", { href: address, rel: "noreferrer" }, text) : text;
  const element = made("td", { className: layout }, content);
  if (key) element.dataset.key = key;
  return element;
};
const elementOf = row => row.element ??= made("tr", {}, ...row.cells.map(cellMade));
const readRow = element => ({ element, cells: [...element.cells].map(cell => [cell.textContent, cell.dataset.key ?? ""]) });

const showMore = (scroll, note) => {
  note.hidden = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 1;
  scroll.classList.toggle("more", !note.hidden);
};

for (const table of document.querySelectorAll("table")) {
  const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const data = document.getElementById("rows-" + table.id);
  let rows = data ? JSON.parse(data.textContent).map(cells => ({ cells })) : [...body.rows].map(readRow);
  let found = rows, first = 0;

  const search = made("input", { type: "search", autocomplete: "off", spellcheck: false });
  const filters = headings.flatMap((heading, column) => {
    if (heading.dataset.filter === undefined) return [];
    const values = [...new Set(rows.map(row => textOf(row.cells[column])))].sort(inOrder);
    if (values.length < 2) return [];
    const options = values.map(value => made("option", { value }, value || "(none)"));
    const choice = made("select", {}, made("option", { value: "all", defaultSelected: true }, "all"), ...options);
    choice.fits = row => choice.selectedIndex === 0 || textOf(row.cells[column]) === choice.value;
    return [[heading.textContent, choice]];
  });
  const count = made("output"), back = made("button", { type: "button" }, "Previous");
  const next = made("button", { type: "button" }, "Next");

  const show = at => {
    first = at;
    const last = Math.min(first + ROWS, found.length), number = value => value.toLocaleString("en");
    body.replaceChildren(...found.slice(first, last).map(elementOf));
    const range = found.length > ROWS ? `${number(first + 1)} to ${number(last)} of ${number(found.length)}` : number(found.length);
    count.value = range + (found.length === 1 ? " row" : " rows") + (found.length < rows.length ? ` (${number(rows.length)} in all)` : "");
    back.hidden = next.hidden = found.length <= ROWS;
    back.disabled = first === 0;
    next.disabled = last === found.length;
  };
  const choose = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = rows.filter(row => {
      if (!filters.every(([, choice]) => choice.fits(row))) return false;
      row.text ??= row.cells.map(textOf).join("\n").toLowerCase();
      return words.every(word => row.text.includes(word));
    });
    show(0);
  };
  headings.forEach((heading, column) => heading.firstElementChild.addEventListener("click", () => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    const keyed = rows.map(row => [valueOf(row.cells[column]), row]);
    // Empty cells stay at the end in both directions.
    keyed.sort(([a], [b]) => isEmpty(a) - isEmpty(b) || (down ? inOrder(b, a) : inOrder(a, b)));
    rows = keyed.map(([, row]) => row);  // splice with so many arguments would fail
    headings.forEach(other => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    choose();
  }));
  if (rows.length > FEW) {
    search.addEventListener("input", choose);
    filters.forEach(([, choice]) => choice.addEventListener("change", choose));
    back.addEventListener("click", () => show(first - ROWS));
    next.addEventListener("click", () => show(first + ROWS));
    const choices = filters.map(([name, choice]) => made("label", {}, name + " ", choice));
    table.parentElement.before(made("div", { className: "tools" }, made("label", {}, "Search ", search), ...choices, count, back, next));
    show(0);
  }
  const scroll = table.parentElement, note = made("p", { className: "note" }, "Scroll to the right for more columns \u2192");
  scroll.before(note);
  scroll.addEventListener("scroll", () => showMore(scroll, note));
  new ResizeObserver(() => showMore(scroll, note)).observe(scroll);
  showMore(scroll, note);
}
