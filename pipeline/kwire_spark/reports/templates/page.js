"use strict";
// Tables sort by the column whose heading is clicked: by exact values, texts in natural order.
const valueOf = (row, column) => {
  const cell = row.cells[column], key = cell.dataset.key;
  if (key === undefined) return cell.textContent;
  return key === "nan" ? NaN : isNaN(key) ? key : Number(key);
};
const inOrder = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
const isEmpty = value => value === "" || Number.isNaN(value);

for (const table of document.querySelectorAll("table")) {
  const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  headings.forEach((heading, column) => heading.firstElementChild.addEventListener("click", () => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    const rows = [...body.rows].map(row => [valueOf(row, column), row]);
    // Empty cells stay at the end in both directions.
    rows.sort(([a], [b]) => isEmpty(a) - isEmpty(b) || (down ? inOrder(b, a) : inOrder(a, b)));
    body.append(...rows.map(([, row]) => row));
    headings.forEach(other => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  }));
}

// Charts get the colours of the page, and again when it switches between dark and light.
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const painted = trace => {
  const role = trace.meta.role;
  if (role === "heat") return { ...trace, colorscale: [[0, colour("heat-low")], [1, colour("heat-high")]] };
  return { ...trace, marker: { size: 11, ...trace.marker, color: colour(role) } };
};
const axis = properties => ({
  gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("line"), tickcolor: colour("line"), ...properties,
});
const laidOut = layout => ({
  paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, bargap: 0.25, hovermode: "closest",
  dragmode: false,
  font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") },
  hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("line"), font: { color: colour("ink") }, align: "left" },
  legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "normal" },
  ...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
});
const figures = JSON.parse(document.getElementById("figures").textContent);
const draw = () => {
  for (const plot of document.querySelectorAll(".plot")) {
    const { data, layout } = figures[plot.dataset.figure];
    Plotly.react(plot, data.map(painted), laidOut(layout), { responsive: true, displayModeBar: false, typesetMath: false });
  }
};
if (Object.keys(figures).length) {
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
