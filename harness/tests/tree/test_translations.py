"""The Chinese pages say what the English ones say, as far as a program can tell.

An English change does not wait for its translation: a warning names each Chinese page that is out
of date, and this page is not compared with its source. With FULL=1 it is a failure.
"""

from __future__ import annotations

import warnings

import pytest

from harness.tests.tree import translations
from harness.tests.tree.documents import anchors
from harness.tests.drawn import FULL
from harness.tests.tree.translations import Page, name, source_of, translation
from harness.failures.hints import HINTS
from harness.lab.chapters import ROOT

PAGES = translations.pages()
each_source = pytest.mark.parametrize("source", translations.wanted(), ids=name)
each_page = pytest.mark.parametrize("page", PAGES, ids=name)


@each_source
def test_a_page_has_its_chinese_one(source):
    page = name(translation(source))
    assert translation(source).exists(), f"{name(source)} has no Chinese page: add {page}"


@each_page
def test_a_chinese_page_has_its_source(page):
    assert source_of(page).exists(), f"{name(page)}: {name(source_of(page))} is gone: remove it"


def told(check) -> str:
    """What `check` says about all pages."""
    found = [check(page, page.read_text("utf-8"), source_of(page).read_bytes()) for page in PAGES]
    return "\n".join(filter(None, found))


def test_every_page_names_its_source_and_a_version():
    faults = told(translations.fault_of_mark)
    assert not faults, f"\n{faults}"


def test_every_page_is_up_to_date():
    late = told(translations.behind)
    if FULL:
        assert not late, f"\n{late}"
    elif late:
        warnings.warn(f"pages whose translation is out of date:\n{late}", stacklevel=1)


def need_up_to_date(page):
    if translations.is_behind(page):
        pytest.skip(f"{name(page)} is the translation of an older {name(source_of(page))}")


@each_page
def test_a_page_has_all_of_its_source(page):
    need_up_to_date(page)
    found = translations.differences(Page.read(source_of(page)), Page.read(page))
    assert not found, "\n".join(["", *found])


@each_page
def test_links_of_a_page_lead_somewhere(page):
    found = list(Page.read(page).broken_links())
    assert not found, "\n".join(["", *found])


def test_hints_name_a_section_of_the_chinese_page_too():
    """A hint names the English page. Its reader looks for the same anchor in the Chinese one."""
    page = ROOT / "docs" / "zh" / "reading-failures.md"
    need_up_to_date(page)
    lacks = {hint.anchor for hint in HINTS.values()} - anchors(page.read_text("utf-8"))
    assert not lacks, f"{name(page)} has no <a id=...> for {', '.join(sorted(lacks))}"


# The checker itself

ENGLISH = """\
# Title

[中文](page.zh.md)

It takes 32 MiB, or `poll()` twice: `poll()`. See [the list](list.md#second-part).

## Second part

    int x = 1;

    int y;

- 1,000 clients, 0.5 s, -1.

| what | how |
|---|---|
| a | `b|c` |

![A picture.](pictures/1.svg)

<details><summary>Hint</summary>

Call `read()`.

</details>
"""
CHINESE = """\
<!-- 译自 build/page.md，版本 {hash} -->

# 标题

[English](page.md)

它要 32 MiB，或者两次 `poll()`：`poll()`。见[列表](list.zh.md#second-part)。

> 译注：这里可以有 7 和 `code`，
> 还有 8。

<a id="second-part"></a>

## 第二部分

    int x = 1;

    int y;

- 1,000 个客户端，0.5 s，-1。

| 什么 | 怎样 |
|---|---|
| a | `b|c` |

![一张图。](pictures/1.svg)

<details><summary>提示</summary>

调用 `read()`。

</details>
"""
PLACE = ROOT / "build" / "page.md"
HASH = translations.blob_hash(ENGLISH.encode())


def differences(chinese: str, english: str = ENGLISH) -> list[str]:
    known = {ROOT / "build" / "list.md": ROOT / "build" / "list.zh.md"}
    page = Page(translation(PLACE), chinese.replace("{hash}", HASH))
    return list(translations.differences(Page(PLACE, english), page, known))


def test_a_right_page_passes():
    assert differences(CHINESE) == []


@pytest.mark.parametrize(
    "right, wrong, told",
    [
        ("32 MiB", "23 MiB", "zh.md:3: this section lacks the number 32, as in build/page.md:5"),
        ("32 MiB", "33 MiB", "zh.md:7: the number 33 is not, or not so often, in this section of"),
        ("32 MiB", "32 KiB", "zh.md:3: this section lacks the unit MiB, as in build/page.md:5"),
        ("0.5 s，", "", "zh.md:14: this section lacks the number 0.5"),
        ("-1。", "1。", "lacks the number -1"),
        ("- 1,000", "- 1 000", "lacks the number 1,000"),
        ("int y", "int z", "zh.md:18: another line of a code block than in build/page.md:11"),
        ("    int y;\n", "", "zh.md lacks the line of a code block of build/page.md:10"),
        ("：`poll()`", "", "zh.md:3: this section lacks the inline code poll()"),
        ("两次", "`两次`", "zh.md:7: the inline code 两次 is not, or not so often, in"),
        ("![一张图。](pictures/1.svg)", "", "lacks the picture of build/page.md:19: build/pictures"),
        ("pictures/1", "pictures/2", "zh.md:26: another picture than in build/page.md:19"),
        ("## 第", "### 第", "zh.md:14: another heading than in build/page.md:7"),
        ("## 第二部分", "第二部分", "zh.md lacks the heading of build/page.md:7"),
        ("list.zh.md", "list.md", "lacks the link to build/list.zh.md#second-part, as in"),
        ("#second-part)", ")", "zh.md:7: the link to build/list.zh.md is not, or not so often"),
        ("[English](page.md)", "", "zh.md:3: this section lacks the link to build/page.md, as in"),
        ("| a | `b|c` |\n", "", "zh.md lacks the row of a table of build/page.md:17"),
        ("| 什么 | 怎样 |", "| 什么 |", "zh.md:22: another row of a table than in build/page.md"),
        ("<summary>提示</summary>", "", "zh.md lacks the hint of build/page.md:21"),
        ("## 第二部分", "## 第二部分\n\n## 三", "zh.md:16: a heading more than in build/page.md: ##"),
        ('<a id="second-part"></a>', '<a id="title"></a>', "zh.md:12: #title belongs before the"),
    ],
)
def test_a_broken_page_is_told(right, wrong, told):
    assert right in CHINESE
    found = differences(CHINESE.replace(right, wrong, 1))
    assert any(told in one for one in found), "\n".join(found)


def test_a_fenced_block_is_compared_too():
    english, chinese = "# A\n\n```c\nint x;\n```\n", "# 甲\n\n```c\nint y;\n```\n"
    (told,) = differences(chinese, english)
    assert told.startswith("build/page.zh.md:4: another line of a code block"), told


def marked(check, first: str) -> str | None:
    text = CHINESE.replace(CHINESE.splitlines()[0], first)
    return check(translation(PLACE), text, ENGLISH.encode())


def test_a_mark_is_compared_with_the_source():
    right = f"<!-- 译自 build/page.md，版本 {HASH} -->"
    assert marked(translations.fault_of_mark, right) is None
    assert marked(translations.behind, right) is None
    old = "0123456789" * 4
    late = f"<!-- 译自 build/page.md，版本 {old} -->"
    assert marked(translations.fault_of_mark, late) is None
    what_to_do = marked(translations.behind, late)
    assert what_to_do.startswith("build/page.zh.md is the translation of an older build/page.md. ")
    assert f"    git diff {old} build/page.md\n" in what_to_do
    assert what_to_do.endswith(f"    {right}")
    for wrong in ("", f"<!-- 译自 build/other.md，版本 {HASH} -->", "<!-- 译自 build/page.md -->"):
        fault = marked(translations.fault_of_mark, wrong)
        assert fault == f"build/page.zh.md: its first line has to be {right}"


@pytest.mark.parametrize("full", [False, True])
def test_a_page_that_is_behind_stops_nothing_but_full_tests(full, tmp_path, monkeypatch):
    late = tmp_path / "page.zh.md"
    late.write_text(CHINESE.replace("{hash}", "0" * 40), "utf-8")
    (tmp_path / "page.md").write_text(ENGLISH, "utf-8")
    monkeypatch.setattr(f"{__name__}.PAGES", [late])
    monkeypatch.setattr(f"{__name__}.FULL", full)
    expected = pytest.raises(AssertionError) if full else pytest.warns(UserWarning)
    with expected as seen:
        test_every_page_is_up_to_date()
    assert "page.zh.md is the translation of an older" in str(seen.value if full else seen[0])
    with pytest.raises(pytest.skip.Exception):
        test_a_page_has_all_of_its_source(late)


def test_links_that_lead_nowhere_are_told():
    text = "[甲](no.md) [乙](../docs/glossary.md#no) [丙](https://x/#y)\n"
    nowhere, no_anchor = Page(PLACE, text).broken_links()
    assert nowhere == "build/page.md:1: the link no.md leads to no file of the lab"
    assert no_anchor.startswith("build/page.md:1: docs/glossary.md has no anchor for the link ../d")
