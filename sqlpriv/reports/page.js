// Opens all details for paper; draws every chart from the text beside it, again when light turns to dark or it is printed.
(() => {
  const folded = () => [...document.querySelectorAll("details.detail")];
  let closed = [];
  addEventListener("beforeprint", () => { closed = folded().filter((d) => !d.open); closed.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
  const drawn = () => { document.documentElement.dataset.drawn = "yes"; };
  if (!window.vegaEmbed) { drawn(); return; }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colours = (ink, line) => ({
    background: "transparent",
    title: { color: ink }, style: { "guide-label": { fill: ink }, "guide-title": { fill: ink } },
    axis: { domainColor: ink, gridColor: line, tickColor: ink, labelColor: ink, titleColor: ink },
    legend: { labelColor: ink, titleColor: ink, layout: { top: { anchor: "start", direction: "vertical" } } }, view: { stroke: null }, text: { color: ink }, rule: { color: ink },
  });
  const draw = (light, among = document) => Promise.all([...among.querySelectorAll("script[data-chart]")].map((text) =>
    vegaEmbed(document.getElementById(text.dataset.chart), JSON.parse(text.textContent), {
      renderer: "svg", ast: false, tooltip: { theme: dark.matches ? "dark" : "light" },
      actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
      config: light || !dark.matches ? colours("#1d1f23", "#d5d8dd") : colours("#e8eaed", "#3a3f47"),
    })));
  // What is folded has no width: its charts are drawn when it is opened.
  folded().forEach((d) => d.addEventListener("toggle", () => { if (d.open) draw(false, d); }));
  draw(false).then(drawn);
  dark.addEventListener("change", () => draw(false));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
})();
