"use strict";
// Reads values out of charts, zooms into them, by pointer and by keyboard, and hides lines.
// Everything that is shown comes from the page by textContent.
const bindCharts = (root) => root.querySelectorAll(".chart").forEach((chart) => {
  const plot = chart.querySelector(".plot");
  const svg = plot.querySelector("svg");
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
  // Words below and above the drawing, and the places to which they belong, in its units.
  const labels = [...plot.querySelectorAll(".x, .mark")].map((element) => {
    const side = element.style.right === "" ? "left" : "right";
    const share = parseFloat(element.style[side]) * 10;
    return { element, side, place: side === "left" ? share : 1000 - share };
  });
  let at = null;
  // The part of the drawing that is shown.
  let [from, to] = [0, 1000];
  const all = document.createElement("button");
  [all.type, all.className, all.hidden, all.textContent] = ["button", "all", true, "Show all"];
  chart.querySelector(".legend").append(all);
  const zoom = (low, high) => {
    // Without the digits that sums leave behind.
    const width = Math.round(1000 * Math.min(Math.max(high - low, 5), 1000)) / 1000;
    from = Math.min(Math.max(low, 0), 1000 - width);
    to = from + width;
    svg.setAttribute("viewBox", `${from} 0 ${width} 400`);
    for (const { element, side, place } of labels) {
      const share = (place - from) / width;
      element.style.visibility = share < 0 || share > 1 ? "hidden" : "";
      element.style[side] = `${100 * (side === "left" ? share : 1 - share)}%`;
    }
    all.hidden = width === 1000;
    plot.classList.toggle("zoomed", !all.hidden);
  };
  // Shows a part around `place`, larger by `factor`.
  const zoomBy = (factor, place) => {
    const width = (to - from) * factor;
    const share = (place - from) / (to - from);
    zoom(place - share * width, place + (1 - share) * width);
  };

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
    if (next === undefined) return;
    if (next < from || next > to) zoom(next - (to - from) / 2, next + (to - from) / 2);
    show(next);
  };

  const placeOf = (event) => {
    const box = plot.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    return from + share * (to - from);
  };
  // Where a mouse began to mark the part that is to be shown.
  let begun = null;
  const marked = document.createElement("div");
  marked.className = "marked";
  plot.append(marked);
  const mark = (a, b) => {
    const share = (place) => (100 * (place - from)) / (to - from);
    marked.style.left = `${share(Math.min(a, b))}%`;
    marked.style.width = `${share(Math.max(a, b)) - share(Math.min(a, b))}%`;
  };
  plot.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    begun = placeOf(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    const place = placeOf(event);
    if (begun !== null) mark(begun, place);
    show(place);
  });
  const end = (event) => {
    const place = placeOf(event);
    if (begun !== null && Math.abs(place - begun) > (to - from) / 50) {
      zoom(Math.min(begun, place), Math.max(begun, place));
    }
    begun = null;
    marked.style.width = "0";
  };
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", () => {
    begun = null;
    marked.style.width = "0";
  });
  plot.addEventListener("dblclick", (event) => {
    if (all.hidden) zoomBy(0.25, placeOf(event)); else zoom(0, 1000);
  });
  all.addEventListener("click", () => {
    zoom(0, 1000);
    plot.focus();
  });
  plot.addEventListener("keydown", (event) => {
    const middle = () => (at === null || at < from || at > to ? (from + to) / 2 : at);
    const keys = { ArrowLeft: () => step(-1), ArrowRight: () => step(1),
      Home: () => show(from), End: () => show(to),
      "+": () => zoomBy(0.5, middle()), "-": () => zoomBy(2, middle()), 0: () => zoom(0, 1000),
      Escape: () => {
        zoom(0, 1000);
        plot.blur();
      } };
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
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
