// Which files of the checkout are pages, where each of them stands in the site, and its title.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");

// What harness/course/site.py has found out; without it, as in an editor, the public edition.
export const settings = {
  leftOut: ["solutions/", "docs/answers.md"],
  private: [],
  later: [],
  made: [],
  repository: "",
  base: "/",
  archive: false,
  out: path.join(ROOT, "build/site"),
  ...JSON.parse(process.env.LAB_SITE_SETTINGS ?? "{}"),
};

// Never a page: what was built, the harness, and the site's own files.
const NO_PAGES = ["build/", "harness/", "docs/site/", "HANDOUT.md"];
const CODE = /(\.([ch]|sh|py|yml)|Dockerfile|LICENSE)$/;
const CODE_PLACES = ["chapters", "docs/toys", "docs/recipes", "solutions", "LICENSE"];

const startsWith = (name, list) =>
  list.some(one => (one.endsWith("/") ? name.startsWith(one) || `${name}/` === one : name === one));

export const leftOut = name => startsWith(name, [...settings.leftOut, ...settings.private, ...settings.later]);

// `later` has skeletons that are not shown; their handouts are.
const noPages = [...NO_PAGES, ...settings.leftOut, ...settings.private];
const isPage = name => !startsWith(name, noPages);

function walk(place) {
  const full = path.join(ROOT, place);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [place];
  return readdirSync(full)
    .filter(name => !name.startsWith(".") && name !== "__pycache__")
    .sort()
    .flatMap(name => walk(`${place}/${name}`));
}

// `made` are pages that a command has written to build/. They stand among the documents.
const markdown = ["README.md", ...["chapters", "docs", "solutions"].flatMap(walk)]
  .filter(name => name.endsWith(".md") && existsSync(path.join(ROOT, name)));
export const pages = [...markdown.filter(isPage), ...settings.made];
// As patterns, in which some letters have a meaning.
export const excluded = noPages
  .map(name => name.replace(/[\\*?[\]{}()!+@|]/g, "\\$&"))
  .map(name => (name.endsWith("/") ? `${name}**` : name))
  .map(name => (name === "build/**" && settings.made.length ? "build/*/**" : name));
export const code = CODE_PLACES.flatMap(walk).filter(name => CODE.test(name) && !leftOut(name));

export const read = name => readFileSync(path.join(ROOT, name), "utf8");
// The file that a link leads to, the name itself if it is none.
export const end = name => path.relative(realpathSync(ROOT), realpathSync(path.join(ROOT, name)));
export const isChinese = name => name.endsWith(".zh.md") || name.startsWith("docs/zh/");
export const chinese = pages.filter(isChinese);

// The page in the other language, whether it is there or not.
export function twin(name) {
  if (name === "README.md") return "docs/zh/README.md";
  if (name === "docs/zh/README.md") return "README.md";
  if (name.startsWith("docs/zh/")) return name.replace("docs/zh/", "docs/");
  if (name.endsWith(".zh.md")) return name.replace(/\.zh\.md$/, ".md");
  if (/^docs\/[^/]*\.md$/.test(name)) return name.replace("docs/", "docs/zh/");
  return name.replace(/\.md$/, ".zh.md");
}

// Whether the text of a Chinese page says in its first line that it was made from another version of
// the English page. A version is what `git hash-object` prints.
export function isBehind(name, text) {
  const version = text.match(/^<!-- 译自 \S+，版本 ([0-9a-f]{40}) -->/)?.[1];
  const source = readFileSync(path.join(ROOT, twin(name)));
  const now = createHash("sha1").update(`blob ${source.length}\0`).update(source).digest("hex");
  return version !== undefined && version !== now;
}

// Where a page stands: docs/zh/protocol.md is zh/docs/protocol.md, a README is an index, and a page
// in build/ stands in docs/.
export function route(name) {
  const english = isChinese(name) ? twin(name) : name;
  const place = english.replace(/(^|\/)README\.md$/, "$1index.md").replace(/^build\//, "docs/");
  return isChinese(name) ? `zh/${place}` : place;
}

// As a link has it, without the base.
export const url = name => `/${route(name)}`.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, ".html");
export const codeUrl = name => `${settings.base}files/${name}.html`;

export function title(name) {
  const heading = read(name).match(/^# (.*)$/m);
  return heading ? heading[1].replace(/[`*]/g, "") : name;
}

// The directories chapters/NN-name, and the first page in this language.
export const chapters = readdirSync(path.join(ROOT, "chapters")).sort().filter(name =>
  existsSync(path.join(ROOT, "chapters", name, "README.md")));
