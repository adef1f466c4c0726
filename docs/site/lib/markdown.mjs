// What the Markdown of the lab needs to become a page: links that are right in the checkout become
// links of the site, pictures are put into the page, and places get what only a page can do.

import { existsSync } from "node:fs";
import path from "node:path";
import {
  ROOT, chinese, code, codeUrl, isBehind, isChinese, leftOut, pages, read, settings, twin, url,
} from "./tree.mjs";
import { picture } from "./pictures.mjs";
import { place } from "./live.mjs";
import { SESSION, isSession } from "./terminal.mjs";
import { WORDS } from "./words.mjs";

const EXTERNAL = /^([a-z]+:|#)/i;
const FILE_NAME = /^[\w.]+\.[ch]$/;
const TODO = /^### TODO (\d+).*$/gm;
const PLACE = /^<!-- (timeline|states) ([\w-]+) -->$/gm;
const COMMAND = /^\s*(\$ |make |git |gcc |g\+\+ |cd |tar |sudo |docker |python3 |sh |strace |gdb |curl |ulimit )/;
const ANSWERS = /^<!-- with the solutions -->$.*?^<!-- end -->\n/gms;
const SCRIPT = /^\s*(import \{|const )/m;
const C = /^\s*(#include |struct \w+ \{|static |(?:int|void|bool|size_t|uint32_t) \w+\(|for \(|while \(|if \()/m;

const sourceOf = env => (env.realPath ?? env.path) && path.relative(ROOT, env.realPath ?? env.path);

// GitHub's name of a heading: the links in the documents have it.
export const slug = text =>
  text.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replace(/ /g, "-");

// Where a link of a page leads in the site: { href, page }, { href, file } of a file that is no page,
// or nothing, if this edition does not have it.
export function resolved(href, source) {
  const [name, anchor] = href.split("#");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  let target = path.join(path.dirname(source), decodeURI(name)).replace(/\/$/, "");
  if (existsSync(path.join(ROOT, target, "README.md"))) target += "/README.md";
  if (target.endsWith(".md")) {
    // A link to the same page in the other language means that language.
    const other = target === twin(source) && pages.includes(target);
    const found = other ? target : edition(target, isChinese(source));
    return found && { href: url(found) + hash, page: found };
  }
  const directory = code.some(one => one.startsWith(`${target}/`));
  if (directory) return { href: codeUrl(`${target}/index`) + hash, file: true };
  if (code.includes(target)) return { href: codeUrl(target) + hash, file: true };
  if (leftOut(target)) return undefined;
  throw new Error(`${source}: the site has no page and no file for the link ${href}`);
}

// A page in the language of the page that links to it, or else in English.
function edition(target, wantsChinese) {
  const english = isChinese(target) ? twin(target) : target;
  if (wantsChinese && chinese.includes(twin(english))) return twin(english);
  return pages.includes(english) ? english : undefined;
}

function changeLinks(inline, source, Token) {
  const open = [];
  inline.children = inline.children.flatMap((token, at) => {
    if (token.type === "link_open") open.push({ token, note: change(token, source) });
    if (token.type !== "link_close") return [token];
    const { token: { tag }, note } = open.pop();
    token.tag = tag;
    if (!note) return [token];
    const next = inline.children[at + 1];
    if (next?.type === "text") next.content = next.content.trimStart(); // the mark is wide
    return [token, Object.assign(new Token("text", "", 0), { content: note })];
  });
}

// Returns what stands behind the link, if anything: that its page is in another language.
function change(token, source) {
  const href = token.attrGet("href");
  if (EXTERNAL.test(href) || href.startsWith("/")) return "";
  const found = resolved(href, source);
  if (!found) {
    token.tag = "span";
    token.attrs = [["class", "left-out"], ["title", WORDS[isChinese(source) ? "zh" : "en"].leftOut]];
    return "";
  }
  token.attrSet("href", found.href);
  if (found.file) token.attrSet("target", "_self"); // no page of VitePress
  const foreign = isChinese(source) && found.page && !isChinese(found.page) && found.page !== twin(source);
  return foreign ? WORDS.zh.english : "";
}

// `io.c` in a handout is a link to the file, where it is in the chapter.
function linkFiles(inline, source, Token) {
  const directory = path.dirname(source);
  let links = 0;
  inline.children = inline.children.flatMap(token => {
    links += (token.type === "link_open") - (token.type === "link_close");
    const name = `${directory}/${token.content}`;
    if (links || token.type !== "code_inline" || !FILE_NAME.test(token.content) || !code.includes(name))
      return [token];
    const open = new Token("link_open", "a", 1);
    open.attrs = [["href", token.content]];
    return [open, token, new Token("link_close", "a", -1)];
  });
}

// A line of the source may end between two Chinese characters, or beside a mark that is as wide as one,
// and there is no space there.
function joinChinese(tokens) {
  const wide = /[\p{Script=Han}“”‘’…—]/u, mark = /[\u3000-\u303f\uff00-\uffef]/;
  const near = (at, by, end) => {
    do at += by; while (tokens[at] && !tokens[at].content); // past the beginning of a link
    return tokens[at]?.content.at(end) ?? "";
  };
  tokens.forEach((token, at) => {
    if (token.type === "image") joinChinese(token.children);
    if (token.type !== "softbreak") return;
    const sides = [near(at, -1, -1), near(at, 1, 0)];
    if (!sides.some(side => mark.test(side)) && !sides.every(side => wide.test(side))) return;
    token.type = "text";
    token.content = "";
  });
}

function rewriteTokens(state) {
  const source = sourceOf(state.env);
  if (!source) return;
  state.tokens.forEach((token, at) => {
    if (token.type !== "inline") return;
    if (state.tokens[at - 1].type !== "heading_open") linkFiles(token, source, state.Token);
    if (isChinese(source)) joinChinese(token.children);
    changeLinks(token, source, state.Token);
  });
}

// The same at the level of text, before it is parsed.
function rewriteText(state) {
  const source = sourceOf(state.env);
  if (!source) return;
  const words = WORDS[isChinese(source) ? "zh" : "en"];
  let text = settings.leftOut.includes("solutions/") ? state.src.replace(ANSWERS, "") : state.src;
  text = text.replace(PLACE, (_, kind, name) => place(kind, name, words));
  if (/^(chapters|solutions)\//.test(source))
    text = text.replace(TODO, (heading, number) => heading + todoPlaces(path.dirname(source), number, words));
  if (["README.md", "docs/zh/README.md"].includes(source)) text = text.replace(/^## .*$/m, heading => heading + begin(words));
  if (isChinese(source) && isBehind(source, state.src)) {
    const english = path.relative(path.dirname(source), twin(source));
    text = text.replace(/^# .*$/m, heading => `${heading}\n\n> ${WORDS.zh.behind(english)}`);
  }
  state.src = text;
}

function todoPlaces(directory, number, words) {
  const links = code.filter(name => path.dirname(name) === directory).flatMap(name => {
    const line = read(name).split("\n").findIndex(one => one.includes(`TODO ${number}:`)) + 1;
    return line ? [`[${words.line(path.basename(name), line)}](${path.basename(name)}#L${line})`] : [];
  });
  return links.length ? `\n\n${links.join(" · ")} {.to-code}` : "";
}

// How a reader who has only the site gets the lab.
function begin(words) {
  const get = [];
  if (settings.archive) get.push(words.download(`${settings.base}lab.tar.gz`), "    tar -xzf lab.tar.gz\n    cd lab");
  if (settings.repository) get.push(words.clone, `    git clone ${settings.repository} lab\n    cd lab`);
  return get.length ? `\n\n${[...get, words.then].join("\n\n")}` : "";
}

function language(content) {
  if (isSession(content)) return SESSION;
  if (content.split("\n").every(line => !line.trim() || COMMAND.test(line))) return "sh";
  if (SCRIPT.test(content)) return "js";
  return C.test(content) ? "c" : "txt";
}

// The text that stands for a picture; a line of it may end anywhere.
const plain = tokens => tokens.map(token => (token.type === "softbreak" ? " " : token.content)).join("");

export function extend(md) {
  md.core.ruler.before("normalize", "lab_text", rewriteText);
  md.core.ruler.push("lab_tokens", rewriteTokens);
  const { rules } = md.renderer;
  // Indented code is like fenced code: with a button that copies it.
  rules.code_block = (tokens, at, ...rest) => {
    const lang = language(tokens[at].content);
    const numbers = lang === "c" && tokens[at].content.trim().includes("\n") ? ":line-numbers" : "";
    tokens[at].info = `${lang}${numbers}`;
    return rules.fence(tokens, at, ...rest).replace(`"lang">${SESSION}<`, '"lang">terminal<');
  };
  // A long name may end a line behind each "_".
  const inline = rules.code_inline;
  rules.code_inline = (...all) => inline(...all).replace(/_(?=[^>]*<\/code>)/g, "_<wbr>");
  const image = rules.image;
  rules.image = (tokens, at, options, env, self) => {
    const source = sourceOf(env), file = path.join(path.dirname(source), tokens[at].attrGet("src"));
    if (!file.endsWith(".svg")) return image(tokens, at, options, env, self);
    return picture(file, plain(tokens[at].children));
  };
}
