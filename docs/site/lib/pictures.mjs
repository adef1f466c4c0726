// The pictures of the documents, put into the page itself: so they follow its switch between light
// and dark. In a file of its own, an SVG follows the setting of the system.

import { readdirSync } from "node:fs";
import path from "node:path";
import { ROOT, read } from "./tree.mjs";

const FAMILY = "pictures", TIMELINE = "docs/timelines/one-read.html";
const UNITS = { pt: 4 / 3, px: 1, "": 1 }; // CSS pixels

const escaped = text => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");

// The picture for a page. Several pictures share a page, so each has its own ids.
export function picture(file, alt) {
  const name = path.basename(file, ".svg");
  let svg = read(file);
  svg = svg.slice(svg.indexOf("<svg"));
  svg = svg.replace(/<!--.*?-->|<metadata>.*?<\/metadata>|<style.*?<\/style>/gs, "");
  svg = ownIds(svg, name).replace(/xlink:href/g, "href").replace(/\n\s*/g, "\n");
  svg = svg.replace(/-?\d+\.\d{3,}/g, number => String(Math.round(100 * number) / 100));
  const { head, width } = sized(svg.match(/<svg[^>]*>/)[0]);
  svg = svg.replace(/<svg[^>]*>/, head);
  return (
    `<span class="picture ${FAMILY}" role="img" tabindex="0" aria-label="${escaped(alt)}"` +
    ` style="--wide: ${width}px">${svg.trim()}</span>`
  );
}

// Ids that nothing refers to go; the others get the name of the picture.
function ownIds(svg, name) {
  const used = new Set([...svg.matchAll(/(?:url\(|href=")#([\w-]+)/g)].map(found => found[1]));
  return svg
    .replace(/ id="([\w-]+)"/g, (all, id) => (used.has(id) ? ` id="${name}-${id}"` : ""))
    .replace(/(url\(|href=")#([\w-]+)/g, `$1#${name}-$2`);
}

// Its size comes from the style sheet, so it can become smaller.
function sized(head) {
  const [, width, unit] = head.match(/ width="([\d.]+)(\w*)"/), [, height] = head.match(/ height="([\d.]+)/);
  const box = head.includes("viewBox") ? "" : ` viewBox="0 0 ${width} ${height}"`;
  const bare = head.replace(/ (width|height)="[^"]*"/g, "").replace(/ xmlns(:\w+)?="[^"]*"/g, "");
  return { head: bare.replace("<svg", `<svg aria-hidden="true"${box}`), width: Math.round(width * UNITS[unit]) };
}

// The style sheets of all pictures, for pictures only, and dark where the page is; and that of
// timelines, the second one of a page of make trace.
export function styles() {
  const found = new Set();
  for (const file of readdirSync(path.join(ROOT, "docs", FAMILY)).filter(name => name.endsWith(".svg")))
    for (const [, css] of read(`docs/${FAMILY}/${file}`).matchAll(/<style[^>]*>(.*?)<\/style>/gs))
      for (const rule of scoped(css)) found.add(rule);
  return [...found, read(TIMELINE).split(/<\/?style>/)[3]].join("\n");
}

function scoped(css) {
  const dark = /@media \(prefers-color-scheme: dark\) \{ :root (\{[^}]*\}) \}/g;
  const rules = [...css.replace(dark, "").matchAll(/([^{}]+)(\{[^}]*\})/g)].map(([, selector, body]) => {
    const own = selector.trim();
    return own === ":root" ? `.${FAMILY} ${body}` : `.picture.${FAMILY} ${own} ${body}`;
  });
  return [...rules, ...[...css.matchAll(dark)].map(([, body]) => `.dark .${FAMILY} ${body}`)];
}
