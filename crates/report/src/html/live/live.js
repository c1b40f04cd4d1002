"use strict";
// Replaces the part of the page that changes, unless a reader is busy with it. What is inserted came
// from the server that sent this page, which escapes every name.
const part = document.getElementById("live");
const state = document.getElementById("state");
const pause = document.getElementById("pause");
let latest = null;
const isRead = () => part.querySelector(".plot:hover, .plot:focus, button:focus") !== null;
const show = () => {
  if (latest === null || pause.getAttribute("aria-pressed") === "true" || isRead()) return;
  part.innerHTML = latest;
  latest = null;
  bindCharts(part);
};
pause.addEventListener("click", () => {
  const isPaused = pause.getAttribute("aria-pressed") === "true";
  pause.setAttribute("aria-pressed", String(!isPaused));
  state.textContent = isPaused ? "under way" : "picture paused; the run goes on";
  show();
});
const source = new EventSource("live");
source.addEventListener("part", (event) => {
  if (state.textContent.startsWith("waiting")) state.textContent = "under way";
  latest = event.data;
  show();
});
source.addEventListener("over", () => {
  source.close();
  location.reload();
});
source.addEventListener("error", () => {
  if (source.readyState === EventSource.CLOSED) state.textContent = "the connection was lost";
});
