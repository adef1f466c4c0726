// The C files and scripts of the lab, each as a plain page with line numbers. They are no pages of
// VitePress: there are hundreds, and nothing in them is searched for or translated.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ICON } from "./icon.mjs";
import { code, codeUrl, end, pages, read, settings, title, url } from "./tree.mjs";

const WORDS =
  "auto bool break case char const continue default do double else enum extern false for goto if int " +
  "long return short signed sizeof static struct switch true typedef union unsigned void volatile while";
const STRING = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;
const SYNTAX = {
  c: new RegExp(String.raw`(?<note>/\*.*?\*/|//[^\n]*)|(?<text>${STRING})|(?<word>^#\w+|\b(?:${WORDS.replace(/ /g, "|")})\b)`, "gms"),
  other: new RegExp(String.raw`(?<note>(?<=^|\s)#[^\n]*)|(?<text>${STRING})`, "gm"),
};

const escaped = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// The text as HTML, line by line.
function lines(text, syntax) {
  let html = "", end = 0;
  for (const found of text.matchAll(syntax)) {
    const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    html += escaped(text.slice(end, found.index));
    html += escaped(found[0]).split("\n").map(line => `<i class="${kind}">${line}</i>`).join("\n");
    end = found.index + found[0].length;
  }
  return (html + escaped(text.slice(end))).replace(/\n$/, "").split("\n");
}

// The page switches like the site: the theme of VitePress keeps this name.
const SWITCH =
  "const kept = localStorage.getItem('vitepress-theme-appearance') || 'auto';" +
  "const dark = kept === 'auto' ? matchMedia('(prefers-color-scheme: dark)').matches : kept === 'dark';" +
  "document.documentElement.classList.toggle('dark', dark);";
const COPY =
  "const button = document.getElementById('copy');" +
  "button.hidden = false;" +
  "button.onclick = () => navigator.clipboard.writeText(" +
  "[...document.querySelectorAll('code span')].map(line => line.textContent).join('\\n') + '\\n');";
const STYLE = `
:root { --paper: #fff; --ink: #24292f; --soft: #57606a; --band: #f6f8fa; --link: #3451b2; --note: #57606a; --text: #0a5c36; --word: #8250df; }
@media screen { .dark { --paper: #1b1b1f; --ink: #dfdfd6; --soft: #98989f; --band: #202127; --link: #a8b1ff; --note: #98989f; --text: #7ee787; --word: #d2a8ff; color-scheme: dark; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header, ul { padding: .8rem 1rem; margin: 0; } ul { padding-left: 2.2rem; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; border-bottom: 1px solid var(--band); }
h1 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; } a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
button { font: inherit; font-size: .85rem; color: var(--ink); background: var(--band); border: 1px solid var(--soft); border-radius: 4px; cursor: pointer; }
pre { margin: 0; padding: .6rem 0; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; tab-size: 4; }
code { display: block; width: max-content; min-width: 100%; } code div { padding-right: 1rem; } code div:target { background: var(--band); box-shadow: inset 3px 0 var(--link); }
code a { display: inline-block; width: 3.2em; margin-right: 1.2em; text-align: right; color: var(--soft); user-select: none; }
i { font-style: normal; } .note { color: var(--note); } .text { color: var(--text); } .word { color: var(--word); }
@media print { button { display: none; } pre { white-space: pre-wrap; overflow-wrap: anywhere; } code { width: auto; } }
`;

function page(name, body, more = "") {
  const directory = path.dirname(name).replace(/^\.$/, "");
  const handout = [directory, path.dirname(directory)].map(place => `${place}/README.md`).find(one => pages.includes(one));
  const home = `<a href="${settings.base}">Event Loop Lab</a>`;
  const up = handout
    ? `<a href="${settings.base}${url(handout).slice(1)}">${escaped(title(handout))}</a>` : "";
  const list = directory && !name.endsWith("/index") ? `<a href="index.html">${directory}</a>` : "";
  const shown = name.replace(/\/index$/, "/");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${shown}</title><link rel="icon" href="${ICON}"><style>${STYLE}</style><script>${SWITCH}</script></head>
<body><header><h1>${shown}</h1>${home}${up}${list}${more}</header>
${body}</body></html>
`;
}

function listing(name) {
  const rows = lines(read(name), /\.[ch]$/.test(name) ? SYNTAX.c : SYNTAX.other).map((line, at) =>
    `<div id="L${at + 1}"><a href="#L${at + 1}">${at + 1}</a><span>${line}</span></div>`);
  const copy = `<button id="copy" hidden>copy</button>`;
  return page(name, `<pre><code>${rows.join("")}</code></pre><script>${COPY}</script>`, copy);
}

// A file of a solution that is as in an earlier chapter leads to the file there, too.
function entry(name, directory) {
  const from = end(name);
  const earlier = from === name ? "" : ` as in <a href="${codeUrl(from)}">${from.split("/")[1]}</a>`;
  return `<li><a href="${name.slice(directory.length + 1)}.html">${name.slice(directory.length + 1)}</a>${earlier}`;
}

function index(directory) {
  const names = code.filter(name => name.startsWith(`${directory}/`));
  return page(`${directory}/index`, `<ul>${names.map(name => entry(name, directory)).join("")}</ul>`);
}

export function writeFiles(outDir) {
  const write = (name, html) => {
    const file = path.join(outDir, "files", `${name}.html`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, html);
  };
  for (const name of code) write(name, listing(name));
  for (const directory of new Set(code.map(name => path.dirname(name))))
    if (directory !== ".") write(`${directory}/index`, index(directory));
}
