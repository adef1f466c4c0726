// What becomes alive in a page: timelines, the states of a connection, and the points of a curve.

import { timeline } from "../../../../harness/trace/timeline.js";
import { states } from "./states.js";

const data = import.meta.glob("../../../timelines/*.json", { import: "default" });

export function enliven() {
  for (const place of document.querySelectorAll("[data-timeline]:not(.alive)")) showTimeline(place);
  for (const place of document.querySelectorAll("[data-steps]:not(.alive)")) {
    place.classList.add("alive");
    states(place);
  }
}

// The picture stays for a printer.
async function showTimeline(place) {
  place.classList.add("alive");
  const found = await data[`../../../timelines/${place.dataset.timeline}.json`]();
  const root = document.createElement("div");
  root.className = "timeline timelines vp-raw";
  const still = place.matches(".picture") ? place : place.querySelector(".picture");
  still.classList.add("still");
  still.after(root);
  timeline(root, found);
  root.querySelector("details").open = false;
}

// A point of a curve says its values at once. Without script the browser shows its title.
export function tellPoints() {
  const tip = document.createElement("div");
  tip.className = "point-tip";
  document.body.append(tip);
  document.addEventListener("pointerover", event => {
    const point = event.target.closest?.(".point");
    tip.style.display = point ? "block" : "none";
    if (!point) return;
    const title = point.querySelector("title");
    if (title) {
      point.dataset.says = title.textContent;
      title.remove();
    }
    tip.textContent = point.dataset.says;
    const { left, top } = point.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(left + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, top - tip.offsetHeight - 6)}px`;
  });
}

// Paper has nothing to click on, and is white.
export function unfoldForPrint() {
  const root = document.documentElement;
  let folded = [], dark = false;
  addEventListener("beforeprint", () => {
    dark = root.classList.contains("dark");
    root.classList.remove("dark");
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
    root.classList.toggle("dark", dark);
  });
}
