"""make site: the book as a reader has it. One build for all of these tests.

They are skipped where VitePress or Chromium is not installed; with SITE=1 they fail there.
"""

from __future__ import annotations

import fcntl
import html
import json
import os
import re
import shutil
import tarfile
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from harness.tests.tree import browser
from harness.tests import shell
from harness.tests.tree.documents import Page as AnyPage
from harness.tests.parts.test_handover import secrets_of
from harness.tests.tree.translations import right_mark, source_of
from harness.course import site
from harness.course.handover import handout
from harness.lab.chapters import CHAPTERS, ROOT
from harness.lab.target import WrongUsage, setting

OUTSIDE = ("http:", "https:", "mailto:")
PHONE, TABLET = 380, 800  # pixels
LEAST = 40  # letters, of a line of the answers that is looked for


def missing() -> str:
    """Why the site cannot be built and looked at here, "" if it can."""
    try:
        site.check(site.parse([]))
    except WrongUsage as error:
        return str(error)
    return "" if browser.found() else f"there is no browser: {site.INSTALL}"


def need_it() -> None:
    if reason := missing():
        (pytest.fail if setting("SITE") else pytest.skip)(reason)


def build(out: Path, *options: str) -> None:
    done = shell.lab("site", "--out", out, *options)
    assert done.returncode == 0, done.stdout + done.stderr


class Page(AnyPage):
    """One HTML file: what can be linked to in it, what it links to, and its text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(path.read_text())

    @cached_property
    def text(self) -> str:
        source = re.sub(r"<(script|style).*?</\1>", "", self.path.read_text(), flags=re.S)
        lines = re.sub(r"</(?:div|p|li|td|h\d|tr)>", "\n", source)
        return html.unescape(re.sub(r"<[^>]*>", "", lines)).replace("\u200b", "")


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    """The public edition; the processes of pytest-xdist share one."""
    need_it()
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    out, done = shared / "site", shared / "site-is-built"
    with (shared / "site-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            build(out)
            done.touch()
    return out


@pytest.fixture(scope="module")
def pages(built) -> dict[str, Page]:
    """All HTML files, by their paths in the site."""
    return {str(path.relative_to(built)): Page(path) for path in sorted(built.rglob("*.html"))}


@pytest.fixture(scope="module")
def documents(pages) -> dict[str, Page]:
    """The pages that VitePress has made of Markdown."""
    return {name: page for name, page in pages.items() if not name.startswith(("files/", "404"))}


@pytest.fixture(scope="module")
def address(built):
    with browser.served(built) as address:
        yield address


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def wide(chromium, address):
    """wide(page) -> the browser, which shows this page in a wide window, with light colours."""
    chromium.size(1400)

    def show(page: str) -> browser.Browser:
        chromium.open(f"{address}/{page}")
        return chromium

    return show


def test_every_document_of_a_handout_is_a_page(documents):
    wanted = {"index.html"}
    for member in handout.members(None):
        place = member.name.removeprefix(f"{handout.TOP}/")
        if place.endswith(".md") and place.startswith(("chapters/", "docs/")):
            if ".zh." not in place and not place.startswith("docs/zh/"):
                wanted.add(re.sub(r"README\.md$", "index.md", place)[:-3] + ".html")
    english = {name for name in documents if not name.startswith("zh/")}
    assert english == wanted


def test_no_link_is_dead_and_no_anchor(built, pages):
    dead = []
    for name, page in pages.items():
        for link in page.links:
            url = urlsplit(link)
            if link.startswith(OUTSIDE):
                continue
            where = unquote(url.path)
            path = built / where.lstrip("/") if where.startswith("/") else page.path.parent / where
            path = page.path if not where else path / "index.html" if path.is_dir() else path
            target = pages.get(os.path.relpath(path, built))
            if not path.exists() or (url.fragment and unquote(url.fragment) not in target.ids):
                dead.append(f"{name}: {link}")
    assert not dead, "\n".join(sorted(set(dead))[:40])


def test_the_public_edition_has_no_solution_and_no_answer(built, pages):
    # The handout of 10 shows some lines on purpose: SHOWN in test_handover.py.
    secret = secrets_of(CHAPTERS)
    allowed = {line.strip() for line in (CHAPTERS[9].chapter_dir / "README.md").open()}
    shown = {}
    for name, page in pages.items():
        lines = {re.sub(r"^\d+", "", line).strip() for line in page.text.splitlines()}
        if found := (lines & secret) - allowed:
            shown[name] = found
    assert not shown
    answers = [line.strip() for line in (ROOT / "docs" / "answers.md").read_text().splitlines()]
    answers = [line for line in answers if len(line) >= LEAST and "`" not in line]
    assert len(answers) > 40
    everything = "".join(" ".join(page.text.split()) for page in pages.values())
    scripts = "".join(path.read_text() for path in (built / "assets").rglob("*.js"))
    assert not [line for line in answers if line in everything or line in scripts]
    assert not {"solutions", "answers.html"} & {part for name in pages for part in name.split("/")}
    with tarfile.open(built / "lab.tar.gz") as tar:
        names = tar.getnames()
    assert not [name for name in names if "/solutions/" in name or name.endswith("/answers.md")]


def test_it_can_be_read_without_script(pages):
    """The pictures, the timeline, and the steps of a connection."""
    first = pages["chapters/01-blocking/index.html"].path.read_text()
    assert 'class="picture pictures" role="img"' in first
    assert 'class="picture timelines" role="img"' in first
    assert "One read() was taken for one message" in first
    third = pages["chapters/03-poll-loop/index.html"]
    steps = json.loads((ROOT / "docs" / "states" / "03.json").read_text())
    assert all(step["call"] in third.text for step in steps)


def test_both_first_pages_say_how_to_get_the_lab_and_lead_to_each_other(built):
    for name, other in (("index.html", "/zh/"), ("zh/index.html", "/")):
        page = Page(built / name)
        assert "/lab.tar.gz" in page.links and "tar -xzf lab.tar.gz" in page.text
        word = "中文" if other == "/zh/" else "English"
        assert re.search(rf'<a href="{other}"[^>]*>{word}</a>', (built / name).read_text())


def test_the_public_edition_does_not_ask_for_solutions(built):
    for name, title in (("index.html", "Try the solutions"), ("zh/index.html", "试运行参考答案")):
        text = Page(built / name).text
        assert "FROM=solutions" not in text and title not in text
        assert "before-you-start.md" in text  # what stands below it


def test_a_todo_leads_to_its_line(pages):
    handout_page, name = pages["chapters/01-blocking/index.html"], "files/chapters/01-blocking/io.c"
    lines = (ROOT / "chapters" / "01-blocking" / "io.c").read_text().splitlines()
    place = 1 + next(at for at, line in enumerate(lines) if "TODO 3:" in line)
    assert f"/{name}.html#L{place}" in handout_page.links
    code = pages[f"{name}.html"]
    assert {f"L{number}" for number in range(1, len(lines) + 1)} <= code.ids
    assert lines[place - 1].strip() in code.text


def test_before_and_after_a_chapter(pages):
    second = pages["chapters/02-nonblocking/index.html"].path.read_text()
    links = re.findall(r'class="VPLink link pager-link (prev|next)" href="([^"]*)"', second)
    assert links == [("prev", "/chapters/01-blocking/"), ("next", "/chapters/03-poll-loop/")]


def test_a_reader_of_chinese_is_told_what_is_in_english(documents):
    """Before and after a page stand pages in Chinese; other links say that they leave."""
    for name, page in documents.items():
        html_text = page.path.read_text()
        around = re.findall(r'pager-link (?:prev|next)" href="([^"]*)"', html_text)
        assert all(link.startswith("/zh/") == name.startswith("zh/") for link in around), name
    first = documents["zh/index.html"]
    assert "docs/platforms.md（英文）：" in first.text
    assert "docs/zh/protocol.md：" in first.text


def test_a_chinese_page_that_is_behind_says_so_and_leads_to_the_english_one():
    """The page is a title below the mark of today's version, or of an older one."""
    need_it()
    for name, english in {
        "docs/zh/README.md": "/",
        "docs/zh/protocol.md": "/docs/protocol.html",
        "chapters/01-blocking/README.zh.md": "/chapters/01-blocking/",
    }.items():
        page = ROOT / name
        versions = source_of(page).read_bytes(), b"older"
        now, late = rendered(name, *(f"{right_mark(page, one)}\n\n# 标题\n" for one in versions))
        words = "这一页译自英文页的旧版本"
        told = re.search(rf"</h1>\s*<blockquote>\s*<p>{words}.*?</blockquote>", late, re.S)
        assert told and f'<a href="{english}"' in told[0]
        assert words not in now


def rendered(name: str, *texts: str) -> list[str]:
    """Each text as the HTML of the page `name`."""
    script = (
        "const { createMarkdownRenderer } = await import(process.argv[1]);"
        "const { extend, slug } = await import('./docs/site/lib/markdown.mjs');"
        "const anchor = { slugify: slug };"
        "const md = await createMarkdownRenderer('.', { anchor, config: extend });"
        "const [path, ...texts] = JSON.parse(process.argv[2]), found = [];"
        "for (const text of texts) found.push(md.render(text, { path }));"
        "console.log(JSON.stringify(found));"
    )
    vitepress = str(site.VITEPRESS.parents[1] / "dist" / "node" / "index.js")
    given = json.dumps([str(ROOT / name), *texts])
    return printed_by_node(script, vitepress, given)


def printed_by_node(script: str, *words: str):
    done = shell.run("node", "--input-type=module", "-e", script, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_chinese_sentences_have_no_space_at_the_end_of_a_line(documents):
    wide = "[\\u3000-\\u303f\\uff00-\\uffef]"
    for name, page in documents.items():
        for text in re.findall(r"<p>(.*?)</p>", page.path.read_text(), re.S):
            assert not re.search(rf"{wide}\s|\s{wide}", text), name


def test_no_page_is_wider_than_a_phone(chromium, address, pages):
    wide = []
    for width, names in ((PHONE, pages), (TABLET, ["index.html", "docs/protocol.html"])):
        chromium.size(width)
        seen = [name for name in names if not name.startswith("files/")]
        for name in [*seen, "files/chapters/05-framing/frame.c.html"]:
            chromium.open(f"{address}/{name}")
            needed = chromium.run("document.documentElement.scrollWidth")
            if needed > width:
                wide.append(f"{name}: {needed} of {width}")
    assert not wide


def search(chromium, words: str) -> list[str]:
    """Where the results of a search lead."""
    chromium.until("document.querySelector('.VPNavBarSearch button')")
    chromium.run("document.querySelector('.VPNavBarSearch button').click()")
    chromium.until("document.activeElement?.classList.contains('search-input')")
    chromium.type(words)
    found = "[...document.querySelectorAll('.VPLocalSearchBox a.result')].map(a => a.pathname)"
    chromium.until(f"{found}.length")
    return chromium.run(found)


def test_the_search_finds_english_words(wide, documents):
    found = search(wide("index.html"), "back-pressure")
    assert {"/chapters/04-pipelining/", "/docs/glossary.html"} & set(found)
    assert all("back-pressure" in page_of(documents, one).text.lower() for one in found[:3])


def test_the_search_finds_chinese_words(wide, documents):
    """缓冲区 is in the middle of sentences that have no spaces."""
    chinese = [name for name, page in documents.items() if name[:3] == "zh/" and "缓冲区" in page.text]
    if not chinese:
        pytest.skip("no page of the Chinese edition has the word")
    found = search(wide(chinese[0]), "缓冲区")
    assert found and all("缓冲区" in page_of(documents, one).text for one in found[:3])


def page_of(documents: dict[str, Page], path: str) -> Page:
    return documents[path.lstrip("/") + ("index.html" if path.endswith("/") else "")]


def test_the_switch_of_the_page_changes_its_pictures(wide):
    """The system asks for light colours all the time."""
    chromium = wide("chapters/01-blocking/")
    colour = "getComputedStyle(document.querySelector('.picture text')).fill"
    chromium.run("localStorage.clear()")
    assert chromium.run(colour) == "rgb(36, 41, 47)"
    chromium.until("document.querySelector('.VPSwitchAppearance')?.title")
    chromium.run("document.querySelector('.VPSwitchAppearance').click()")
    chromium.until(f"{colour} === 'rgb(230, 237, 243)'")
    wide("files/chapters/01-blocking/io.c.html")
    assert chromium.run("document.documentElement.className") == "dark"
    chromium.run("localStorage.clear()")


def test_a_timeline_is_alive(wide):
    chromium = wide("chapters/01-blocking/")
    columns = json.loads((ROOT / "docs" / "timelines" / "one-read.json").read_text())["columns"]
    marks = "document.querySelectorAll('.timeline .mark')"
    chromium.until(f"{marks}.length === {len(columns)}")
    chromium.run(f"{marks}[4].dispatchEvent(new FocusEvent('focus'))")
    assert columns[4]["text"] in chromium.run("document.querySelector('.timeline .tip').innerText")


def test_a_timeline_speaks_chinese(wide):
    chromium = wide("zh/chapters/01-blocking/")
    tools = chromium.until("document.querySelector('.timeline .tools')?.textContent")
    legend = chromium.run("document.querySelector('.timeline .legend').textContent")
    assert "客户端" in tools and "客户端连接" in legend and "undefined" not in tools + legend


def test_the_steps_of_a_connection_are_told_in_chinese(documents):
    for path in (ROOT / "docs" / "states").iterdir():
        told = {step["client"] for step in json.loads(path.read_text())} - {""}
        (place,) = (ROOT / "chapters").glob(f"{path.stem}-*")
        english, chinese = (
            re.search(
                '<div class="live states".*?</table>',
                documents[f"{language}chapters/{place.name}/index.html"].path.read_text(),
                re.S,
            )[0]
            for language in ("", "zh/")
        )
        assert told and all(text in english and text not in chinese for text in told)


def test_a_timeline_says_the_same_in_both_languages():
    need_it()
    script = (
        "const { ENGLISH } = await import('./harness/student/trace/timeline.js');"
        "const { CHINESE_TIMELINE } = await import('./docs/site/lib/words.mjs');"
        "const names = words => [Object.keys(words), Object.keys(words.legend), words.keys.length];"
        "console.log(JSON.stringify([ENGLISH, CHINESE_TIMELINE].map(names)));"
    )
    english, chinese = printed_by_node(script)
    assert english == chinese and len(english[1]) == 17


def test_an_address_leads_to_its_heading(wide):
    """The heading stays in place where a timeline above it becomes alive, which changes its
    height."""
    chromium = wide("chapters/01-blocking/")
    headings = chromium.run("[...document.querySelectorAll('.vp-doc h2')].map(one => one.id)")
    for name in (headings[2], headings[-2]):
        wide("docs/glossary.html")
        wide(f"chapters/01-blocking/#{name}")
        chromium.until("document.querySelectorAll('.timeline .mark').length")
        top = f"document.getElementById({json.dumps(name)}).getBoundingClientRect().top"
        chromium.until(f"Math.abs({top} - 110) < 3")


def test_the_copy_button_takes_the_commands_only(wide):
    chromium = wide("docs/debugging.html")
    chromium.run("navigator.clipboard.writeText = async text => { window.taken = text; }")
    blocks = "[...document.querySelectorAll('div.language-shellsession')]"
    block = f"{blocks}.find(one => one.textContent.includes('-o /tmp/trace'))"
    chromium.until(f"{block}?.querySelector('button.copy')")
    chromium.run(f"{block}.querySelector('button.copy').click()")
    lines = chromium.until("window.taken").splitlines()
    assert [line.split()[0] for line in lines] == ["make", "SERVER='strace", "tail"]


def test_paper_is_white_and_has_everything(chromium, wide):
    chromium.size(1400, dark=True)
    wide("chapters/01-blocking/")
    chromium.until("document.querySelectorAll('.timeline .mark').length")
    folded = "document.querySelectorAll('details:not([open])').length"
    dark = "document.documentElement.classList.contains('dark')"
    before = chromium.run(folded)
    assert before and chromium.run(dark)
    chromium.run("dispatchEvent(new Event('beforeprint'))")
    assert not chromium.run(folded) and not chromium.run(dark)
    chromium.run("dispatchEvent(new Event('afterprint'))")
    assert chromium.run(folded) == before and chromium.run(dark)
    wide("files/chapters/01-blocking/io.c.html")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert chromium.run(paper) == "rgb(27, 27, 31)"
    chromium.print_media(True)
    assert chromium.run(paper) == "rgb(255, 255, 255)"
    chromium.print_media(False)


def test_a_connection_is_stepped_through(wide):
    chromium = wide("chapters/03-poll-loop/")
    now = "document.querySelector('.states .state.now')?.innerText"
    steps = json.loads((ROOT / "docs" / "states" / "03.json").read_text())
    for step in steps:
        told = [step["state"], f"interest: {step['interest'] or 'none'}"]
        chromium.until(f"{now}?.includes({json.dumps(told[0])})")
        assert told[1] in chromium.run(now)
        chromium.run("document.querySelectorAll('.states .tools button')[1].click()")


@pytest.mark.full("editions of the site")
def test_the_edition_for_instructors(tmp_path):
    """VitePress itself refuses dead links."""
    need_it()
    out = tmp_path / "site"
    build(out, "--solutions", "--chapter", "04", "--base", "/lab/", "--repository", "https://a.b/c")
    solution = "solutions/03-poll-loop"
    documents = ("docs/answers.html", "docs/mutants.html", "docs/sweep.html")
    for name in (f"{solution}/index.html", f"files/{solution}/conn.c.html", *documents):
        assert (out / name).exists()
    assert "any-address" in Page(out / "docs/mutants.html").text
    assert not (out / "files/chapters/05-framing").exists()
    files = Page(out / "files/solutions/12-redis/index.html")  # its net/ is a link
    assert "net/ring.c as in 11-completion" in files.text
    assert "/lab/files/solutions/11-completion/net/ring.c.html" in files.links
    assert (out / "files/solutions/12-redis/net/ring.c.html").exists()
    assert (out / "chapters/05-framing/index.html").exists()
    page = Page(out / "index.html")
    assert "FROM=solutions" in page.text
    assert "git clone https://a.b/c lab" in page.text and "/lab/chapters/01-blocking/" in page.links


# Without VitePress


def asked(*options: str) -> str:
    with pytest.raises(WrongUsage) as error:
        site.check(site.parse(list(options)))
    return str(error.value)


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    assert asked("--base", "lab") == "BASE=lab: it has to begin and end with /"
    monkeypatch.setattr(site, "MODULES", tmp_path)
    if shutil.which("node"):
        assert "make setup SITE=1" in asked() and "VitePress is not installed" in asked()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asked() == "node is not installed: make setup SITE=1 installs what it needs"


def test_the_editions_leave_out_what_handouts_do():
    public = site.settings(site.parse([]), None, [])
    assert {"solutions/", "docs/answers.md", "docs/sweep.md"} <= set(public["leftOut"])
    assert public["made"] == []
    own = site.settings(site.parse(["--solutions"]), None, [])
    assert (own["leftOut"], own["made"]) == ([], [site.WRONG_SERVERS])


def test_the_versions_are_those_of_the_lockfile():
    wanted = json.loads((site.SOURCE / "package.json").read_text())["devDependencies"]
    locked = json.loads((site.SOURCE / site.LOCK).read_text())["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert all(one.get("integrity") for name, one in locked.items() if name)
