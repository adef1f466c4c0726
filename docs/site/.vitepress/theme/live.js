// What becomes alive in a page: timelines, and the states of a connection.

import { ENGLISH, timeline } from "../../../../harness/student/trace/timeline.js";
import { CHINESE_TIMELINE } from "../../lib/words.mjs";
import { states } from "./states.js";

const data = import.meta.glob("../../../timelines/*.json", { import: "default" });

export async function enliven() {
  const steps = document.querySelectorAll("[data-steps]:not(.alive)");
  const lines = document.querySelectorAll("[data-timeline]:not(.alive)");
  for (const place of steps) {
    place.classList.add("alive");
    states(place);
  }
  await Promise.all([...lines].map(showTimeline));
  if (steps.length || lines.length) requestAnimationFrame(showWanted);
}

// What becomes alive gets another height. So the part of the page that was asked for has moved.
function showWanted() {
  const place = history.state?.scrollPosition; // after "back"; VitePress keeps it there
  if (place) scrollTo(0, place);
  else document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

// The entry of this page, in a sidebar that is always there and longer than the window.
export function showInSidebar() {
  if (innerWidth >= 960) document.querySelector(".VPSidebar .is-link.is-active")?.scrollIntoView({ block: "nearest" });
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
  timeline(root, found, document.documentElement.lang.startsWith("zh") ? CHINESE_TIMELINE : ENGLISH);
  root.querySelector("details").open = false;
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
