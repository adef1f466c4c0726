"""What a claim is: a graded test, which this marks.

    from harness.claims.marker import claim

    @claim("01.3", points=6)
    def test_01_header_cut_everywhere(server, rng):
        '''A header cut at every byte is put together again.'''

To load claims needs this module and no other of the harness.
"""

from __future__ import annotations


def claim(
    todo,
    *,
    points,
    chapters=None,
    cli=False,
    native=False,
    valgrind=False,
    module=False,
    waits=0,
    hints=None,
    refusals=False,
    descriptors=0,
    needs="",
    sees_calls=False,
):
    """Marks a graded test.

    todo: the TODO it grades, "01.3". points: of the 100 of its own chapter. chapters: "03-04" or
    "03", if it does not hold for its own and all later chapters. cli: it needs the command line
    of the lab's own servers, or what only they promise, such as a log. native: it is about CPU,
    memory or limits, which valgrind distorts.
    valgrind: its servers run under valgrind in every grade; with SERVER= where that is a native
    program.
    module: it has no server; programs of the grader call the student's files, see stage/program.py.
    waits: seconds that it sleeps, if it mostly does: then it runs beside others, see lanes.py. Not
    for a claim that can fail, or is not judged, because replies come a little late.
    hints: what a general hint (a key of failure.HINT_KEYS) means here: the key of a better one.
    descriptors: as many as it opens here, and in its server.
    needs: an instrument without which it is not judged, a key of student/needed.py.
    sees_calls: it counts or disturbs, with server/shim, calls that move bytes. A server that moves
    them by completion makes none: it is started so that it does, see lab.chapters.Chapter.by_calls.
    refusals: clients of it send what has to be refused as too long, so the server may well say so.
    """

    def mark(function):
        function.claim = {"todo": todo, "points": points, "chapters": chapters}
        function.claim.update(cli=cli or module, native=native, valgrind=valgrind)
        function.claim.update(module=module, waits=waits, hints=hints or {}, refusals=refusals)
        function.claim.update(descriptors=descriptors, needs=needs, sees_calls=sees_calls)
        return function

    return mark
