"use strict";
// Draws the figures that the page's data describes. A figure has controls (menus) and
// a view (traces and layout) for each combination of their options, the last control
// turning fastest. Views of one `uirevision` share zoom and hidden traces. In traces `{"ref": n}` stands for the n-th array, "@name" for the
// style sheet's colour --name.
(async () => {
  // plotly.js is packed in the page. It makes itself known as Plotly.
  const packed = atob(document.getElementById("plotly").textContent);
  if (!("DecompressionStream" in window)) {
    document.querySelectorAll(".plot").forEach((plot) => plot.append("A newer browser is needed for this picture."));
    return;
  }
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(unpacked).text();
  document.head.append(library);

  const page = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 640px)");
  // A finger must be able to scroll past a plot: there, zooming starts with its button.
  const touch = matchMedia("(pointer: coarse)").matches;

  const color = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  const filled = (value) => {
    if (typeof value === "string") return value.startsWith("@") ? color(value.slice(1)) : value;
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map(filled);
    if ("ref" in value) return page.arrays[value.ref];
    return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, filled(v)]));
  };

  const styled = ({ traces, layout }) => {
    // On a phone the legend takes a line for every label or two, not from the plot.
    const labels = traces.filter((trace) => trace.showlegend !== false).length;
    const size = narrow.matches ? 11 : 13;
    const all = {
      ...layout,
      autosize: true,
      height: layout.height + (narrow.matches ? 20 * Math.max(0, labels - 3) : 0),
      paper_bgcolor: color("ground"),
      plot_bgcolor: color("ground"),
      font: { color: color("ink"), size, family: "system-ui, sans-serif" },
      margin: { l: narrow.matches ? 48 : 64, r: layout.right ? (narrow.matches ? 44 : 60) : 16, t: 36, b: 84 },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1, yanchor: "bottom", ...layout.legend },
      hoverlabel: { font: { size }, namelength: -1 },
      dragmode: touch ? false : "zoom",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: color("muted"), activecolor: color("ink"), orientation: "h" },
    };
    for (const key of Object.keys(all)) {
      if (!/^[xy]axis\d*$/.test(key)) continue;
      all[key] = {
        gridcolor: color("grid"),
        zerolinecolor: color("grid"),
        linecolor: color("muted"),
        automargin: true,
        ...all[key],
      };
    }
    return all;
  };

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };

  const drawings = page.figures.map((figure) => {
    const plot = document.getElementById(figure.id);
    const chosen = figure.controls.map(() => 0);
    const draw = () => {
      const n = figure.controls.reduce((sum, c, i) => sum * c.options.length + chosen[i], 0);
      const view = filled(figure.views[n]);
      return Plotly.react(plot, view.traces, styled(view), config);
    };
    const bar = document.createElement("div");
    bar.className = "controls";
    figure.controls.forEach((control, i) => {
      const label = document.createElement("label");
      const select = document.createElement("select");
      control.options.forEach((option) => select.add(new Option(option)));
      select.addEventListener("change", () => {
        chosen[i] = select.selectedIndex;
        draw();
      });
      label.append(control.label, select);
      bar.append(label);
    });
    if (figure.controls.length) plot.before(bar);
    return draw;
  });

  const drawAll = () => drawings.forEach((draw) => draw());
  drawAll();
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
})();
