"""Engines of `make class`: GNU parallel as it is, ssh as a stand-in, and Slurm as a cluster of one
machine that is started for the test. The grade itself is a stand-in."""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.authors.selftest.shell import SECONDS, check_refused, script
from harness.authors.selftest.test_class import (
    ClassRun,
    check_that_it_goes_on,
    handed_in,
    stopped_halfway,
)
from harness.course.classes import plan, pool
from harness.server.waiting.wait import wait_until

needs_parallel = pytest.mark.skipif(
    shutil.which("parallel") is None, reason="GNU parallel is not here: package parallel"
)
CLUSTER = ("munged", "slurmctld", "slurmd", "sbatch")
needs_slurm = pytest.mark.skipif(
    not all(map(shutil.which, CLUSTER)), reason="Slurm is not here: packages slurm-wlm and munge"
)

# Runs the command here, unless the machine is called dead.
SSH = """while [ "$1" = -o ] || [ "$1" = -l ]; do shift 2; done
host=$1
shift
[ "$1" != -- ] || shift
echo "$host" >>"$0.hosts"
[ "$host" != dead ] || { echo "ssh: connect to host dead: No route to host" >&2; exit 255; }
exec sh -c "$*"
"""

# MaxArraySize=3: a task has more than one unit as soon as there are three.
CONF = """
ClusterName=scratch
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={top}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
MaxArraySize=3
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=65536 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class EngineRun(ClassRun):
    """`make class` with an engine and the fake grader."""

    def __init__(self, top: Path, *options: str) -> None:
        super().__init__(top)
        self.options = options

    def start(self, *options: str, sub: Path | None = None) -> subprocess.Popen:
        return super().start(*self.options, *options, sub=sub)


@pytest.fixture
def by_parallel(tmp_path):
    return EngineRun(tmp_path, "--engine", "parallel", "--sshlogin", ":")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Path]:
    """Yields the configuration file of a Slurm cluster."""
    top = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (top / name).mkdir()
    (top / "munge.key").write_bytes(secrets.token_bytes(1024))
    (top / "munge.key").chmod(0o400)
    host, ports = socket.gethostname().split(".")[0], free_ports()
    conf = top / "slurm.conf"
    conf.write_text(CONF.format(host=host, ports=ports, top=top, user=getpass.getuser()))
    munged = ["munged", "--force", "--foreground", f"--key-file={top}/munge.key"]
    munged += [
        f"--socket={top}/munge.socket",
        f"--pid-file={top}/pid",
        f"--log-file={top}/log",
        f"--seed-file={top}/seed",
    ]
    with contextlib.ExitStack() as stack:
        stack.enter_context(daemon(munged, top))
        assert wait_until((top / "munge.socket").exists, 30, 0.05)
        stack.enter_context(daemon(["slurmctld", "-D", "-f", str(conf)], top))
        stack.enter_context(daemon(["slurmd", "-D", "-f", str(conf), "-N", host], top))
        if not wait_until(lambda: b"idle" in answer(conf, "sinfo", "-h", "-o", "%t"), 60, 0.2):
            last = (top / "slurmd.out").read_text().splitlines()[-1:]
            pytest.skip(f"a cluster of one machine does not start here: {last}")
        yield conf


def free_ports() -> list[int]:
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        return [one.getsockname()[1] for one in made]


@contextlib.contextmanager
def daemon(command: list[str], top: Path) -> Iterator[None]:
    with (top / f"{command[0]}.out").open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def answer(conf: Path, *command: str) -> bytes:
    env = {**os.environ, "SLURM_CONF": str(conf)}
    return subprocess.run(command, env=env, capture_output=True).stdout


@pytest.fixture
def by_slurm(tmp_path, cluster, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(cluster))
    yield EngineRun(tmp_path, "--engine", "slurm")
    answer(cluster, "scancel", "--me")
    assert wait_until(lambda: not answer(cluster, "squeue", "-h"), 60, 0.2)


def grades_what_is_missing(a_class: EngineRun) -> str:
    """Two runs of a class in which one unit never leaves a result. Returns what the first said."""
    for name in ("ada", "ben 2", "王小明", "q'\"$x"):
        handed_in(a_class.sub / name, "90")
    handed_in(a_class.sub / "fay", "kills-unit")
    status, printed = a_class.run("--jobs", "2")
    assert status == 2 and "4 of 5 have a score, 1 are blank" in printed
    assert {row["score"] for name, row in a_class.rows().items() if name != "fay"} == {"90"}
    assert a_class.rows()["fay"]["score"] == ""
    assert a_class.called() == sorted(["ada", "ben 2", "fay", "fay", "q'\"$x", "王小明"])
    assert not list(a_class.results.glob("01/.work/plan*"))
    handed_in(a_class.sub / "ada", "70")
    handed_in(a_class.sub / "fay", "80")
    status, second = a_class.run()
    assert status == 0 and "5 submissions, 3 of them graded before" in second
    assert a_class.called() == ["ada", "fay"]
    assert [a_class.rows()[name]["score"] for name in ("ada", "fay")] == ["70", "80"]
    return printed


@needs_parallel
def test_parallel_grades_what_is_missing(by_parallel):
    grades_what_is_missing(by_parallel)
    log = (by_parallel.results / "01" / ".work" / "parallel.log").read_text()
    assert not log


@needs_parallel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_parallel_can_be_stopped_and_goes_on(by_parallel, tmp_path, number):
    check_that_it_goes_on(by_parallel, tmp_path, number, 60)


@needs_parallel
def test_a_machine_that_is_down_loses_nothing(tmp_path, monkeypatch):
    a_class = EngineRun(tmp_path, "--engine", "parallel", "--sshlogin", "dead,1/good")
    programs = tmp_path / "bin"
    script(programs / "ssh", SSH)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for name in ("ada", "ben 2", "王小明"):
        handed_in(a_class.sub / name)
    status, printed = a_class.run("--jobs", "1")
    assert status == 0 and "3 of 3 have a score" in printed
    assert set((programs / "ssh.hosts").read_text().split()) == {"dead", "good"}


@pytest.mark.full("runs on a cluster of one node")
@needs_slurm
def test_slurm_grades_what_is_missing(by_slurm):
    printed = grades_what_is_missing(by_slurm)
    assert printed.count("slurm: job array") == 2


@pytest.mark.full("runs on a cluster of one node")
@needs_slurm
def test_an_array_goes_on_after_kill_9_and_the_next_run_waits_for_it(by_slurm, tmp_path):
    process = stopped_halfway(by_slurm, tmp_path, signal.SIGKILL)
    process.communicate(timeout=SECONDS)
    by_slurm.called()
    second = by_slurm.start()
    assert "01-blocking" in second.stdout.readline()
    (tmp_path / "go").touch()
    printed, errors = second.communicate(timeout=SECONDS)
    assert (second.returncode, errors) == (0, "")
    assert "an array of an earlier run is still at work" in printed
    assert "slurm: job array" not in printed and by_slurm.called() in ([], ["3"])


@pytest.mark.full("runs on a cluster of one node")
@needs_slurm
def test_ctrl_c_cancels_the_array(by_slurm, cluster, tmp_path):
    process = stopped_halfway(by_slurm, tmp_path, signal.SIGINT)
    printed, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (2, "") and "nothing is left running" in printed
    assert not answer(cluster, "squeue", "-h")
    (tmp_path / "go").touch()
    assert by_slurm.run()[0] == 0
    assert {row["score"] for row in by_slurm.rows().values()} == {"100"}


def test_tasks_share_the_units(tmp_path):
    jobs = [pool.Job(str(n), ["x"], tmp_path / "log", tmp_path / str(n)) for n in range(5)]
    with plan.written(tmp_path / "w", jobs, 2, 9.0) as made:
        shares = [plan.share(made.file, number)[0] for number in (1, 2)]
    assert [[job.name for job in share] for share in shares] == [["0", "2", "4"], ["1", "3"]]
    assert not made.file.exists()


@pytest.mark.parametrize(
    "options, said",
    [
        (["--engine", "magic"], "ENGINE=magic: it can be one of local, parallel, slurm"),
        (["--sshlogin", "a"], "SSHLOGIN goes with ENGINE=parallel"),
        (["--engine", "parallel"], "the package parallel has it"),
        (["--engine", "slurm"], "the package slurm-client has it"),
    ],
)
def test_a_missing_engine_is_one_line(tmp_path, monkeypatch, options, said):
    monkeypatch.setenv("PATH", str(tmp_path))
    a_class = ClassRun(tmp_path)
    handed_in(a_class.sub / "ada")
    check_refused(a_class.ended(*options), said)
