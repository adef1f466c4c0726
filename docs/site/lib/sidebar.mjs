// The navigation: the chapters in their order, then the documents.

import { chapters, chinese, pages, settings, title, twin, url } from "./tree.mjs";
import { WORDS } from "./words.mjs";

// In this order; a document that is in no group belongs to the last one.
const GROUPS = [
  ["before-you-start", "protocol", "reading-failures", "glossary", "toys/README", "debugging", "platforms", "editors"],
  ["instructors", "syllabus", "writeup", "answers"],
  ["working-on-the-lab", "decisions", "map", "benchmarks", "wrong-servers"],
].map(group => group.map(name => settings.made.find(one => one === `build/${name}.md`) ?? `docs/${name}.md`));

export const short = text => text.replace(/^(?:Chapter|第) ?(\d\d)(?: ?章)?[:：] */, "$1 ");

function entry(name, words) {
  const there = words === WORDS.zh && chinese.includes(twin(name));
  const page = there ? twin(name) : name;
  const note = words === WORDS.zh && !there ? words.english : "";
  return { text: short(title(page)) + note, link: url(page) };
}

export function sidebar(words) {
  const section = (text, names, collapsed) => ({
    text, collapsed, items: names.filter(name => pages.includes(name)).map(name => entry(name, words)),
  });
  const known = GROUPS.flat();
  const others = pages.filter(name => name.startsWith("docs/") && !chinese.includes(name) && !known.includes(name));
  const groups = GROUPS.map((group, at) => (at === GROUPS.length - 1 ? [...group, ...others] : group));
  return [
    { ...entry("README.md", words) },
    section(words.chapters, chapters.map(name => `chapters/${name}/README.md`), false),
    ...groups.map((group, at) => section(words.groups[at], group, at > 0)),
    section(words.solutions, pages.filter(name => name.startsWith("solutions/")), true),
  ].filter(one => one.link || one.items.length);
}

export const repository = () =>
  settings.repository ? [{ text: "git", link: settings.repository }] : [];
