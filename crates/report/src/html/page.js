"use strict";
// Reads values out of charts, by pointer and by keyboard, and hides lines. Everything that is shown
// comes from the page by textContent.
const bindCharts = (root) => root.querySelectorAll(".chart").forEach((chart) => {
  const plot = chart.querySelector(".plot");
  const cursor = chart.querySelector(".cursor");
  const readout = chart.querySelector(".readout");
  const buttons = [...chart.querySelectorAll(".legend button")];
  const lines = [...chart.querySelectorAll("svg g")].map((group) => ({
    group,
    name: group.dataset.name,
    places: group.dataset.x.split("|").map(Number),
    words: group.dataset.t.split("|"),
    values: group.dataset.v.split("|"),
  }));
  let at = null;

  const shown = () => lines.filter((line) => line.group.style.display !== "none");
  const nearest = (line, x) => {
    let best = 0;
    line.places.forEach((place, index) => {
      if (Math.abs(place - x) < Math.abs(line.places[best] - x)) best = index;
    });
    return best;
  };
  const show = (x) => {
    const visible = shown();
    readout.textContent = "";
    cursor.setAttribute("d", "");
    at = null;
    if (visible.length === 0) return;
    // The line with the nearest point says where the cursor is.
    const places = visible.map((line) => line.places[nearest(line, x)]);
    at = places.reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best));
    cursor.setAttribute("d", `M${at} 0V400`);
    const first = visible[places.indexOf(at)];
    readout.append(first.words[nearest(first, at)] + ": ");
    visible.forEach((line, number) => {
      const index = nearest(line, at);
      const name = document.createElement("b");
      name.className = line.group.getAttribute("class");
      name.textContent = line.name;
      readout.append(number > 0 ? ", " : "", name, " " + line.values[index]);
      if (Math.abs(line.places[index] - at) > 0.5) readout.append(` (at ${line.words[index]})`);
    });
  };
  const step = (direction) => {
    const all = shown().flatMap((line) => line.places);
    const places = [...new Set(all)].sort((a, b) => a - b);
    if (places.length === 0) return;
    if (at === null) return show(direction > 0 ? places[0] : places[places.length - 1]);
    const next = direction > 0 ? places.find((place) => place > at)
      : places.reverse().find((place) => place < at);
    if (next !== undefined) show(next);
  };

  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    show(((event.clientX - box.left) / box.width) * 1000);
  });
  plot.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: () => step(-1), ArrowRight: () => step(1),
      Home: () => show(0), End: () => show(1000) };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  buttons.forEach((button, number) => button.addEventListener("click", () => {
    const hide = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!hide));
    lines[number].group.style.display = hide ? "none" : "";
    if (at !== null) show(at);
  }));
});
bindCharts(document);
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", () => {
    const text = button.parentElement.querySelector("pre");
    getSelection().selectAllChildren(text);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  });
}
