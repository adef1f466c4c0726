// The site: the Markdown of the checkout as it stands, as a book. docs/working-on-the-lab.md, "The
// site", says how it is put together.

import path from "node:path";
import { fileURLToPath } from "node:url";
import { writeFiles } from "../lib/files.mjs";
import { ICON } from "../lib/icon.mjs";
import { extend, slug } from "../lib/markdown.mjs";
import { styles } from "../lib/pictures.mjs";
import { repository, sidebar } from "../lib/sidebar.mjs";
import { copyCommands } from "../lib/terminal.mjs";
import { tokenize } from "../lib/tokenize.mjs";
import { ROOT, chinese, excluded, isChinese, pages, route, settings, title, twin, url } from "../lib/tree.mjs";
import { CHINESE_SEARCH, CHINESE_THEME, WORDS } from "../lib/words.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

// A key of `locales` is an expression that is searched for in /path/. A page is known by its path
// here as well as by its place in the site, so this has to find both README.zh.md and zh/.
const CHINESE = "zh/|.zh$|/zh";

const top = (words, names) => names.filter(name => pages.includes(name)).map(name => {
  const there = words === WORDS.zh && chinese.includes(twin(name)) ? twin(name) : name;
  return { text: title(there), link: url(there) };
});
const TOP = ["docs/before-you-start.md", "docs/protocol.md", "docs/reading-failures.md", "docs/glossary.md"];
const theme = words => ({
  nav: [{ text: words.groups[0], items: top(words, TOP) }, ...repository()],
  sidebar: sidebar(words),
});

const locales = { root: { label: "English", lang: "en", themeConfig: theme(WORDS.en) } };
if (chinese.length)
  locales[CHINESE] = {
    label: "简体中文",
    lang: "zh-CN",
    link: chinese.includes("docs/zh/README.md") ? "/zh/" : url(chinese[0]),
    description: "学生用 C 语言逐章写出一个 TCP 服务器。",
    themeConfig: { ...CHINESE_THEME, ...theme(WORDS.zh) },
  };

// Before and after a page in Chinese stand pages in Chinese. The theme takes what is beside it in the
// sidebar, which is in English where there is no translation.
function stayInChinese(page) {
  if (!isChinese(page.filePath)) return;
  const row = sidebar(WORDS.zh).flatMap(one => one.items ?? [one]).filter(one => one.link.startsWith("/zh/"));
  const at = row.findIndex(one => one.link === url(page.filePath));
  page.frontmatter.prev = row[at - 1] ?? false;
  page.frontmatter.next = row[at + 1] ?? false;
}

// A page that a command made is not in the repository.
function noEditLink(page) {
  if (settings.made.includes(page.filePath)) page.frontmatter.editLink = false;
}

// Pictures are no text to be searched; the words in them stand in the text, too.
function render(source, env, md) {
  const html = md.render(source, env);
  return html.replace(/<svg[^>]*aria-hidden.*?<\/svg><\/span>/gs, "</span>");
}

// The modules are in build/npm, where nothing looks for them from the top of the checkout. So they
// are found by this, and become part of what is built.
const modules = {
  name: "modules-of-build-npm",
  enforce: "pre",
  resolveId(id, _, options) {
    if (!/^(vue|vitepress)(\/|$)/.test(id)) return null;
    return this.resolve(id, path.join(ROOT, "build/npm/package.json"), { ...options, skipSelf: true });
  },
};

export default {
  title: "Event Loop Lab",
  description: "Students write a TCP server in C, chapter by chapter.",
  base: settings.base,
  srcDir: ROOT,
  srcExclude: excluded,
  rewrites: Object.fromEntries(pages.map(name => [name, route(name)])),
  outDir: settings.out,
  cacheDir: path.join(ROOT, "build/npm/cache"),
  locales,
  head: [["style", {}, styles()], ["link", { rel: "icon", href: ICON }]],
  transformPageData: page => {
    stayInChinese(page);
    noEditLink(page);
  },
  markdown: {
    anchor: { slugify: slug },
    headers: { slugify: slug },
    toc: { slugify: slug },
    codeCopyButtonTitle: "Copy / 复制",
    codeTransformers: [copyCommands],
    config: extend,
  },
  themeConfig: {
    outline: { level: [2, 3] },
    chinese: chinese.map(route),
    search: {
      provider: "local",
      options: {
        _render: render,
        locales: { [CHINESE]: { translations: CHINESE_SEARCH } },
        miniSearch: { options: { tokenize } },
      },
    },
    editLink: settings.repository
      ? { pattern: `${settings.repository}/blob/main/:path`, text: "This page in the repository" }
      : undefined,
  },
  buildEnd: site => writeFiles(site.outDir),
  vite: {
    configFile: false,
    publicDir: false,
    ssr: { noExternal: true },
    build: { chunkSizeWarningLimit: 3000 },
    resolve: { alias: [{ find: /^\.\.?\/composables\/langs$/, replacement: path.join(here, "theme/langs.js") }] },
    plugins: [modules],
  },
};
