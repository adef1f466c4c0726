// The places of a page that become alive in a browser. Without script they show a picture or a table.

import { read } from "./tree.mjs";
import { picture } from "./pictures.mjs";

const escaped = text =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
const spans = text => escaped(text).replace(/`([^`]*)`/g, "<code>$1</code>");

// Markdown ends HTML at an empty line.
const joined = parts => parts.join("\n").replace(/\n(?=\n)/g, "\n&#8203;");

export function place(kind, name, words) {
  return kind === "timeline" ? timeline(name, words) : states(name, words);
}

function timeline(name, words) {
  const { said, text } = JSON.parse(read(`docs/timelines/${name}.json`));
  return joined([
    `<div class="live" data-timeline="${name}">`,
    `<p>${spans(words.timeline)}</p>`,
    picture(`docs/timelines/${name}.svg`, words.alt),
    `<details><summary>${words.asText}</summary>`,
    `<pre v-pre>${escaped(`${said}\n\n${text}`)}</pre>`,
    "</details></div>",
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
