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
