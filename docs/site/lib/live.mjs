// The places of a page for timelines, and for the states of a connection. Without script those are a
// table.

import { read } from "./tree.mjs";

const escaped = text =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
const spans = text => escaped(text).replace(/`([^`]*)`/g, "<code>$1</code>");

// Markdown ends HTML at an empty line.
const joined = parts => parts.join("\n").replace(/\n(?=\n)/g, "\n&#8203;");

export function place(kind, name, words) {
  return kind === "timeline" ? timeline(name, words) : states(name, words);
}

// What a page of make trace says and shows. Its reader does not have the server that commands name.
function timeline(name, words) {
  const page = read(`docs/timelines/${name}.html`);
  const said = page.match(/<pre>.*?<\/pre>/s)[0].replace(/ DIR=[^\s<]+/g, "");
  const table = page.match(/<!-- timeline -->\n(.*)\n<!-- end/s)[1]
    .replace(/ id="marked"/, "").replace(/(?<=>) +/g, indent => "&nbsp;".repeat(indent.length)); // Vue drops spaces
  return joined([
    `<div class="live" v-pre><p>${spans(words.timeline)}</p>`,
    `<details><summary>${words.failure}</summary>${said}</details>`,
    `<div class="wide">${table}</div></div>`,
  ]);
}

function states(name, words) {
  const told = text => Object.entries(words.actions).reduce((all, [english, own]) => all.replace(english, own), text);
  const steps = JSON.parse(read(`docs/states/${name}.json`))
    .map(one => ({ ...one, client: told(one.client), ready: told(one.ready) }));
  const cell = text => `<td v-pre>${escaped(String(text))}</td>`;
  const rows = steps.map(one =>
    `<tr>${[one.client, one.ready, one.call, one.in, one.buffer, one.state, one.interest, one.out].map(cell).join("")}</tr>`);
  const labels = JSON.stringify({ ...words.stepper, step: words.step.map(text => text.replace(/`/g, "")) });
  return joined([
    `<div class="live states" data-steps="${escaped(JSON.stringify(steps))}" data-words="${escaped(labels)}">`,
    `<p>${spans(words.states)}</p>`,
    `<details open><summary>${words.allSteps}</summary>`,
    `<table><thead><tr>${words.step.map(text => `<th>${spans(text)}</th>`).join("")}</tr></thead>`,
    `<tbody>${rows.join("\n")}</tbody></table></details></div>`,
  ]);
}
