"""The demos show what the handouts say they show, fit the screen, and leave no process or file."""

import os
import re
import shutil
import sys

import pytest

from harness.tests import shell
from harness.tests.drawn import each_chapter
from harness.lab import chapters
from harness.server.linux import ring
from harness.student.demos import ch08, ch11
from harness.student.demos import command as demo
from harness.student.demos import shown


def show(chapter, part=""):
    """What the demo of the chapter, or of that part of its handout, prints, by line."""
    result = shell.lab("demo", chapter, LAB_PART=part)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    return lines


def numbers(text):
    return [float(word.replace(",", "")) for word in re.findall(r"\d[\d,]*\.?\d*", text)]


@each_chapter
def test_every_demo_is_tested(chapter):
    """That there is one is asked in test_course.py."""
    named = [name for name in globals() if name.startswith(f"test_{chapter.number}_")]
    assert (
        named
    ), f"harness/tests/verdicts/test_demo.py: add test_{chapter.number}_...: what the demo shows"


def test_a_chapter_without_a_demo_says_which_file_is_missing(monkeypatch, capsys):
    new = chapters.Chapter("new", "it has no demo yet")
    monkeypatch.setattr(chapters, "CHAPTERS", (*chapters.CHAPTERS, new))
    assert demo.main([new.number]) == 2
    said = f"demo: chapter {new.number} has no demo: harness/student/demos/ch{new.number}.py\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("name", ["DIR", "FROM", "SERVER"])
def test_a_demo_does_not_ignore_a_server_in_silence(name):
    said = f"demo: {name}= has no effect on a demo, which chooses its own servers\n"
    result = shell.lab("demo", "03", **{f"LAB_{name}": "solutions"})
    assert (result.returncode, result.stdout, result.stderr) == (2, "", said)


@each_chapter
def test_every_part_of_a_handout_has_a_demo(chapter):
    text = (chapter.chapter_dir / "README.md").read_text()
    parts = re.findall("^### Part ", text, re.M)
    assert len(parts) == len(demo.parts_of(chapter))
    for number, _ in enumerate(parts, 1):
        assert f"make demo CH={chapter.number} PART={number}" in text


@pytest.mark.parametrize("chapter, says", [("05", "has no parts"), ("08", "has parts 1 to 3")])
def test_a_part_that_is_not_there(chapter, says):
    shell.check_refused(shell.lab("demo", chapter, LAB_PART="4"), f"chapter {chapter} {says}")


def test_01_joins_small_messages():
    assert "    b'onetwothree'" in show("01")


def test_02_tells_how_long_b_waits():
    assert numbers(show("02")[-1])[0] >= 2.5


@pytest.mark.full("demos")
def test_03_more_idle_clients_cost_more():
    rows = [numbers(line) for line in show("03") if "%" in line]
    assert [row[0] for row in rows] == [10, 100, 1000]
    assert rows[-1][1] > rows[0][1]


def test_04_small_frames_cost_more_and_memory_is_kept():
    lines = show("04")
    one, many = [numbers(line) for line in lines if re.match(r" +[\d,]+ +[\d,]+ +\d", line)]
    assert many[3] > 100 * one[3]  # system calls
    before, after = [numbers(line)[-1] for line in lines if line.endswith(" MiB")]
    assert after > before + 50


def test_05_bytes_are_misunderstood_and_a_struct_has_holes():
    lines = show("05")
    assert any("b'hello\\n'" in line and line.endswith("N = 1,819,043,176") for line in lines)
    assert any(line.endswith("waits for 16,777,216 bytes") for line in lines)
    memory = next(bytes.fromhex(line) for line in lines if re.fullmatch(r"[ 0-9a-f]+", line))
    assert len(memory) - memory.count(0xAA) == 12


def rows_of_06(lines):
    """Idle clients, requests a second, µs for each."""
    return [numbers(line) for line in lines if line.endswith(" µs")]


def test_06_idle_clients_cost_cpu():
    rows = rows_of_06(show("06"))
    assert rows[0][0] == 0
    assert rows[-1][2] > 3 * rows[0][2]


def test_06_part_one_closes_the_wrong_client():
    lines = show("06", part="1")
    assert any(line.endswith("closes the connection of C") for line in lines)
    assert "    C reads: the end" in lines


def test_06_part_two_is_the_problem_of_the_chapter():
    assert demo.of(chapters.find("06"), "2") is demo.of(chapters.find("06"))


def test_06_is_content_with_few_descriptors():
    result = shell.run("prlimit", "--nofile=1024", sys.executable, "-m", "harness", "demo", "06")
    assert (result.returncode, result.stderr) == (0, "")
    assert [row[0] for row in rows_of_06(result.stdout.splitlines())] == [0, 824]
    assert "1,024 descriptors" in result.stdout


@pytest.mark.full("demos")
def test_07_silent_clients_keep_others_out_and_one_wait_is_enough():
    lines = show("07")
    assert any(line.endswith("B has no reply, and the others are still there") for line in lines)
    often, more_often, until_due = [numbers(line) for line in lines if line.endswith(" ms")]
    assert more_often[1] > often[1] > 20
    assert until_due[0] < 5


@pytest.mark.full("demos")
@pytest.mark.parametrize("parts", ["", "123"])
def test_08_greedy_clients_waiting_clients_and_lost_replies(parts):
    lines = [line for part in parts or [""] for line in show("08", part)]
    alone, _, beside_many = [numbers(line) for line in lines if line.endswith(" ms")]
    assert beside_many[1] > 3 * alone[1]
    waiting = [numbers(line) for line in lines if line.endswith("have none, and no end")]
    assert len(waiting) == 2
    assert all(0 < served < served + rest == ch08.MANY for _, served, rest in waiting)
    came = next(line for line in lines if line.endswith("Connection reset by peer"))
    assert numbers(came)[0] < ch08.OWED / 2


@pytest.mark.full("demos")
def test_09_one_loop_uses_one_core_and_two_threads_miscount():
    lines = show("09")
    paces = [numbers(line) for line in lines if " of " in line and line.startswith("     ")]
    assert [pace[0] for pace in paces] == [1, 2, 8]
    assert all(pace[2] < 1.1 for pace in paces)
    counted = [numbers(line) for line in lines if re.search(r"\d\.\d\d$", line)]
    assert counted[0][0] <= counted[1][0] == counted[2][0] == 20_000_000


@pytest.mark.full("demos")
def test_10_threads_cost_memory_and_switches_are_timed():
    lines = show("10")
    rows = [numbers(line) for line in lines if line.endswith(" KiB")]
    assert [row[-2] for row in rows] == [1, 1001]
    assert rows[1][-1] > 4 * rows[0][-1]
    times = [numbers(line)[-1] for line in lines if line.endswith(" ns")]
    assert len(times) == 4 and min(times) > 0  # beside other programs any of them may be longest


@pytest.mark.full("demos")
def test_11_the_ring_needs_fewer_calls_than_readiness():
    if unusable := ring.problem():
        pytest.skip(unusable)
    rows = [numbers(line) for line in show("11") if re.search(r"\d\d-\w+ .*\d\.\d$", line)]
    assert [row[0] for row in rows] == [6, 10, 11] * 3
    for _, coroutines, completion in (rows[:3], rows[3:6], rows[6:]):
        assert len(completion) == 3  # the number of the chapter, then the ring alone, and the sum
        assert completion[-1] < coroutines[-1]


def test_11_shows_two_servers_without_the_third(monkeypatch, capsys):
    def measured(chapter, _):
        if chapter.number == "11":
            raise shown.NotReady
        return chapter.solution_dir, [[0, 0, 0, 0, 1]] * 3

    monkeypatch.setattr(ch11, "_measured", measured)
    ch11.show()
    lines = capsys.readouterr().out.splitlines()
    assert sum("solutions/" in line for line in lines) == 6
    assert "make grade CH=11" in lines[-1]


@pytest.mark.full("demos")
def test_12_redis_cli_gets_nothing_from_chapter_11():
    if not shutil.which("redis-cli"):
        pytest.skip("redis-cli is not installed")
    lines = show("12")
    assert "2a 31 0d 0a" in lines[2]
    first = lines.index("    $ redis-cli PING")
    assert "168,636,714 bytes" in "".join(lines[:first])
    assert lines[first + 1] == "    Error: Server closed the connection"
    if shutil.which("redis-server"):
        assert lines[first + 6 :][:1] == ["    PONG"]


def test_says_which_server_has_to_work_first(monkeypatch, capsys):
    monkeypatch.setattr(shown.Shown, "works", lambda self, together: False)
    assert demo.main(["02"]) == 2
    assert "make grade CH=01" in capsys.readouterr().err


def test_wrong_usage():
    assert shell.lab("demo").returncode == 2
    result = shell.lab("demo", "77")
    assert result.returncode == 2
    assert "01, 02" in result.stderr


def test_a_server_for_one_client_at_a_time_does_not_serve_three_at_once():
    with shown.server_of("01", together=1) as server:
        assert server.works(together=1)
        assert not server.works(together=3)


def test_no_process_is_left():
    with shown.server_of("01", together=1) as server:
        assert os.waitpid(server.process.pid, os.WNOHANG) == (0, 0)
    with pytest.raises(ChildProcessError):
        os.waitpid(server.process.pid, os.WNOHANG)
