"""What becomes of C sources of all kinds."""

from __future__ import annotations

import os
import resource
import subprocess
import threading

import pytest

from harness.tests.submissions import BROKEN, WARNING, right, submission
from harness.server import build, objects


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "CACHE", tmp_path / "bin")
    monkeypatch.delenv("CC", raising=False)


INCLUDES = (
    *("#include <{}>", "#include<{}>", "# include <{}>", "#\tinclude  <{}> // x", '#include "{}"'),
    *("/* */ #include <{}>", "#define RINGS <{}>\n#include RINGS", "#inc\\\nlude <{}>"),
    *("#if __has_include(<{0}>)\n#include <{0}>\n#endif", '#include "own.h"'),
)


@pytest.mark.parametrize("form", INCLUDES)
def test_a_library_that_a_file_includes_is_linked(form, tmp_path):
    """Whatever the directive looks like, from the kept object, too; and also in a header."""
    text = """
    int main(void) { struct io_uring ring; return io_uring_queue_init(0, &ring, 0) == 0; }
    """
    source = submission(tmp_path / "s", form.format("liburing.h") + text)
    (source / "own.h").write_text("#include <liburing.h>\n")
    for _ in range(2):
        binary = build.cached_server(source).binary
        assert subprocess.run([binary]).returncode == 0
        binary.unlink()


def test_a_library_that_is_only_named_is_not_linked(tmp_path):
    text = "// #include <liburing.h>\nint main(void) { return 0; }\n"
    text += "#if 0\n#include <liburing.h>\n#endif\n"
    binary = build.cached_server(submission(tmp_path / "s", text)).binary
    assert b"liburing" not in binary.read_bytes()


@pytest.mark.parametrize("form", [form for form in INCLUDES if "__has_include" not in form])
def test_a_library_that_is_not_installed_is_no_fault_of_a_submission(form, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "LIBRARIES", {"not_installed.h": "-lnot-installed"})
    source = submission(tmp_path / "s", f"{form.format('not_installed.h')}\nint main(void) {{}}\n")
    (source / "own.h").write_text("#include <not_installed.h>\n")
    with pytest.raises(build.NoCompiler, match="not_installed.h is not installed"):
        build.cached_server(source)


def test_a_directory_with_a_space(tmp_path):
    compiled = build.cached_server(submission(tmp_path / "a b's $x", right()))
    assert compiled.binary.exists()


def test_a_warning_is_told_and_does_not_fail(tmp_path):
    source = submission(tmp_path / "s", right(WARNING))
    assert "nobody_uses_this" in build.cached_server(source).warnings
    assert "nobody_uses_this" in build.cached_server(source).warnings  # from the cache too
    assert build.cached_server(submission(tmp_path / "s", right())).warnings == ""


@pytest.mark.parametrize(
    "text, flags, says",
    [
        (right(WARNING), ["-Werror"], "nobody_uses_this"),
        (BROKEN, [], "main.c:1:.*undeclared_thing"),
        ('#include "nowhere.h"\n', [], "nowhere.h"),
        # No full disk, although the compiler quotes this line.
        ('int main(void) { wrong("No space left on device"); }\n', ["-Werror"], "No space left"),
    ],
    ids=["a warning as an error", "an error", "a missing header", "a text in the source"],
)
def test_what_fails_is_told_by_the_compiler(tmp_path, text, flags, says):
    with pytest.raises(build.BuildFailed, match=says) as caught:
        build.cached_server(submission(tmp_path / "s", text), extra_flags=tuple(flags))
    assert str(tmp_path) not in str(caught.value)


def test_a_long_message_is_cut():
    text = build.shorten("\n".join(map(str, range(100))))
    assert text.splitlines()[-2:] == ["59", "... and 40 more lines"]


def test_no_sources(tmp_path):
    with pytest.raises(build.BuildFailed, match="no .c files"):
        build.cached_server(tmp_path)


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.NoCompiler, match="make setup"):
        build.cached_server(submission(tmp_path / "s", right()))


def test_cc_names_the_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "gcc -DGIVEN")
    source = submission(tmp_path / "s", "#ifdef GIVEN\nint main(void) { return 0; }\n#endif\n")
    assert build.cached_server(source).binary.exists()


def test_the_cache_knows_a_change_in_any_included_file(tmp_path):
    source = submission(tmp_path / "s", '#include "../other.h"\nint main(void) { return OTHER; }\n')
    (tmp_path / "other.h").write_text("#define OTHER 1\n")
    os.utime(tmp_path / "other.h", (0, 0))  # not one that is being written just now
    first = build.cached_server(source).binary
    stamp = first.stat().st_mtime_ns
    assert build.cached_server(source).binary.stat().st_mtime_ns == stamp
    (tmp_path / "other.h").write_text("#define OTHER 2\n")
    assert subprocess.run([build.cached_server(source).binary]).returncode == 2
    assert subprocess.run([first]).returncode == 1


def test_what_is_there_needs_no_compiler(tmp_path, monkeypatch):
    source = submission(tmp_path / "s", '#include "a $b.h"\nint main(void) { return B; }\n')
    (source / "a $b.h").write_text("#define B 1\n")
    binary = build.cached_server(source).binary
    compiler = build._run_compiler
    monkeypatch.setattr(build, "_run_compiler", None)
    assert build.cached_server(source).binary == binary
    monkeypatch.setattr(build, "_run_compiler", compiler)
    (source / "a $b.h").write_text("#define B 2\n")
    assert subprocess.run([build.cached_server(source).binary]).returncode == 2


@pytest.mark.parametrize("header", ["beside.h", "../elsewhere.h"])
def test_what_changes_during_a_build_is_built_again(tmp_path, monkeypatch, header):
    source = submission(tmp_path / "s", f'#include "{header}"\nint main(void) {{ return B; }}\n')
    (source / header).write_text("#define B 1\n")
    compiler = build._run_compiler

    def compile_slowly(*words):
        result = compiler(*words)
        (source / header).write_text("#define B 2\n")
        return result

    monkeypatch.setattr(build, "_run_compiler", compile_slowly)
    assert subprocess.run([build.cached_server(source).binary]).returncode == 1
    assert subprocess.run([build.cached_server(source).binary]).returncode == 2


def test_a_header_that_comes_in_front_of_another_is_noticed(tmp_path):
    source = submission(
        tmp_path / "s", '#define ERRNO 2\n#include "errno.h"\nint main(void) { return ERRNO; }\n'
    )
    assert subprocess.run([build.cached_server(source).binary]).returncode == 2
    (source / "errno.h").write_text("#undef ERRNO\n#define ERRNO 3\n")
    assert subprocess.run([build.cached_server(source).binary]).returncode == 3


def test_two_builds_at_once(tmp_path):
    source = submission(tmp_path / "s", right())
    threads = [threading.Thread(target=build.cached_server, args=[source]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [path.name for path in build.cached_server(source).binary.parent.iterdir()]
    assert sorted(left) == ["server", "warnings"]


def test_an_endless_compilation_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "LIMITS", [(resource.RLIMIT_CPU, 1, 6)])
    source = submission(tmp_path / "s", '#include "/dev/zero"\n')
    with pytest.raises(build.BuildFailed, match="computed for longer than 60 s"):
        build.cached_server(source)


def test_a_compilation_that_waits_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "BUILD_SECONDS", 1)
    source = submission(tmp_path / "s", '#include "never"\n')
    os.mkfifo(source / "never")
    with pytest.raises(build.BuildFailed, match="took longer than 1 s"):
        build.cached_server(source)


def test_the_objects_of_another_directory_will_do(tmp_path, monkeypatch):
    """However many directories have them. A header that differs is another file."""
    monkeypatch.setenv(objects.SHARED, "1")

    def answer(name, number):
        source = tmp_path / name
        source.mkdir()
        (source / "main.c").write_text('#include "n.h"\nint main(void) { return NUMBER; }\n')
        (source / "other.c").write_text("int other;\n")
        (source / "n.h").write_text(f"#define NUMBER {number}\n")
        return subprocess.run([build.cached_server(source).binary]).returncode

    assert [answer("one", 3), answer("two", 3), answer("three", 4)] == [3, 3, 4]
    assert len(list((tmp_path / "bin" / "objects").glob("*.o"))) == 3  # other.c has no header
