// What becomes alive in a page: the states of a connection.

import { states } from "./states.js";

export function enliven() {
  const steps = document.querySelectorAll("[data-steps]:not(.alive)");
  for (const place of steps) {
    place.classList.add("alive");
    states(place);
  }
  if (steps.length) requestAnimationFrame(showWanted);
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
