"""The Chinese pages say what the English ones say, as far as a program can tell.

An English change does not wait for its translation: a warning names each Chinese page that is
behind, and this page is not compared with its source. With FULL=1 it is a failure.
"""

from __future__ import annotations

import warnings

from harness.lab.chapters import ROOT
from harness.tests import golden
from harness.tests.drawn import FULL
from harness.tests.tree.documents import name, read
from harness.tests.tree.translations import MARK, differences, right_mark, translations


def test_chinese_pages_have_all_of_their_sources():
    pages = translations()
    found = {*ROOT.glob("docs/zh/*.md"), *ROOT.glob("*/*/*.zh.md"), *ROOT.glob("docs/*.zh.md")}
    assert found == set(pages.values()), "each English page of these has one, and no other"
    behind, wrong = [], []
    for source, page in pages.items():
        mark = MARK.match(read(page))
        right = right_mark(source, source.read_bytes())
        if mark is None or mark[1] != name(source):
            wrong.append(f"{name(page)}: its first line has to be {right}")
        elif mark[0] != right:
            behind.append(
                f"{name(page)} is the translation of an older {name(source)}. Translate what this "
                f"shows:\n    git diff {mark[2]} {name(source)}\n"
                f"  Then let its first line be\n    {right}"
            )
        else:
            wrong += differences(read(source), read(page), source, page)
    assert not wrong, "\n".join(wrong)
    assert not (FULL and behind), "\n".join(behind)
    if behind:
        warnings.warn("\n".join(["pages whose translation is behind:", *behind]), stacklevel=1)


ENGLISH = """\
# Title

[中文](page.zh.md)

It takes 32 MiB, or `poll()` twice. See [the words](../docs/glossary.md#a).

## Second part

    int x = 1;

| what | how |
|---|---|
| a | `b|c` |

<details><summary>Hint</summary> A picture: ![x](pictures/1.svg) </details>
"""
CHINESE = """\
# 标题

[English](page.md)

它要 32 MiB，或者两次 `poll()`。见[词汇](../docs/zh/glossary.md#a)。

> 译注：这里可以有 7 和 `code`。

<a id="second-part"></a>

## 第二部分

    int x = 1;

| 什么 | 怎样 |
|---|---|
| a | `b|c` |

<details><summary>提示</summary> 图：![x](pictures/1.svg) </details>
"""
SLIPS = {
    **{"32 MiB": "33 KiB", "`poll()`": "`read()`", "x = 1": "x = 2", "## 第": "### 第"},
    **{"zh/glossary": "glossary", "#a": "", "| a | `b|c` |\n": "", "<summary>": ""},
    **{"1.svg": "2.svg", "second-part": "title", "    int x = 1;": "```\nint x = 2;\n```"},
}


def test_slips_of_a_translation_are_told():
    source, page = ROOT / "build" / "page.md", ROOT / "build" / "page.zh.md"
    assert differences(ENGLISH, CHINESE, source, page) == []
    told = []
    for right, slip in SLIPS.items():
        assert right in CHINESE
        found = differences(ENGLISH, CHINESE.replace(right, slip), source, page)
        told += [f"{right!r} -> {slip!r}", *(f"    {one}" for one in found)]
    golden.check("translations", "\n".join(told))
