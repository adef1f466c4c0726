# Installs with apt-get the programs that the lab needs and this machine does not have. If none is
# missing it does nothing, and needs no network.

missing=

need() { # need PACKAGES WHAT-FOR
    missing="$missing $1"
    echo "missing: $1 ($2)"
}

compiles() {
    program=$(mktemp) && printf '#include <stdio.h>\nint main(void) { return puts(""); }\n' |
        "$1" -x c - -o "$program" >/dev/null 2>&1
    status=$?
    rm -f "$program"
    return $status
}

has() {
    command -v "$1" >/dev/null
}

finds_python() {
    sh "$(dirname "$0")/find-python.sh" >/dev/null 2>&1
}

includes() {
    echo "#include <$1>" | gcc -E -x c - >/dev/null 2>&1
}

imports() {
    python=$(sh "$(dirname "$0")/find-python.sh" 2>/dev/null) && "$python" -c "import $1" 2>/dev/null
}

pytest="python3-pytest python3-pytest-timeout python3-pytest-xdist"
compiles gcc || need "gcc libc6-dev" "compiles the servers"
finds_python || need "python3 $pytest" "grades them"
has valgrind || need "valgrind" "make memcheck"
has gdb || need "gdb" "debugs a running server"
has strace || need "strace" "shows its system calls"
has ss || need "iproute2" "ss: shows its connections"
has nc || need "netcat-openbsd" "nc: a client in the terminal"
has clang || need "clang" "make lint, make test"
has clang-format || need "clang-format" "make format, make lint"
has flake8 || need "flake8" "make lint, make test"
if [ -n "$LAB_BENCH" ]; then
    includes uv.h || need "libuv1-dev" "make bench"
    includes event2/event.h || need "libevent-dev" "make bench"
    includes ev.h || need "libev-dev" "make bench"
    imports matplotlib || need "python3-matplotlib" "make bench PLOT=1"
    has dot || need "graphviz" "make pictures"
fi

if [ -z "$missing" ]; then
    echo "setup: everything is here"
    exit 0
fi
if ! has apt-get; then
    echo "setup: there is no apt-get here; please install the missing programs by hand" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
        echo "setup: needs root to install; run as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "setup: installs$missing"
set -e
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
echo "setup: done"
