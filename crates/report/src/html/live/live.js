"use strict";
// Replaces the part of the page that changes, unless a reader is busy with it or has zoomed in. What
// is inserted came from the server that sent this page, which escapes every name.
const part = document.getElementById("live");
const state = document.getElementById("state");
const pause = document.getElementById("pause");
let latest = null;
const isRead = () => part.querySelector(".plot:hover, .plot.zoomed, :focus-visible") !== null;
const say = (words) => {
  if (state.textContent !== words) state.textContent = words;
};
const show = () => {
  if (latest === null || pause.getAttribute("aria-pressed") === "true") return;
  if (isRead()) return say("the picture stands still while a chart is read; Escape ends that");
  say("under way");
  part.innerHTML = latest;
  latest = null;
  bindCharts(part);
};
pause.addEventListener("click", () => {
  const isPaused = pause.getAttribute("aria-pressed") === "true";
  pause.setAttribute("aria-pressed", String(!isPaused));
  say(isPaused ? "under way" : "picture paused; the run goes on");
  show();
});
const source = new EventSource("live");
source.addEventListener("part", (event) => {
  latest = event.data;
  show();
});
source.addEventListener("over", () => {
  source.close();
  location.reload();
});
source.addEventListener("error", () => {
  if (source.readyState !== EventSource.CLOSED) return;
  say(location.protocol === "file:" ? "kept from a run under way" : "the connection was lost");
});
