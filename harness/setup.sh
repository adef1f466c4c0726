# Installs the programs that the lab needs and this machine does not have, with apt-get, dnf or
# pacman. If none is missing it does nothing, and needs no network.

has() {
    command -v "$1" >/dev/null
}

# With musl harness/server/preload does not compile, since it replaces functions as glibc declares them, and 07
# to 11 include <sys/queue.h>. Installing packages does not change that.
libc=$(ldd --version 2>&1)
case $libc in
"musl libc"*)
    echo "setup: this system uses musl, and the lab needs glibc; nothing is installed." >&2
    echo "setup: use Debian, Ubuntu, Fedora or Arch, in a container too: docs/platforms.md" >&2
    exit 1
    ;;
esac

manager=
for known in apt-get dnf pacman; do
    [ -n "$manager" ] || ! has $known || manager=$known
done
missing=

need() { # need WHAT-FOR DEBIAN FEDORA ARCH: its packages there, "-" if something else has it
    case $manager in
    dnf) packages=$3 ;;
    pacman) packages=$4 ;;
    *) packages=$2 ;;
    esac
    [ "$packages" != - ] || return
    echo "missing: $packages ($1)"
    for package in $packages; do
        case "$missing " in
        *" $package "*) ;; # one package may be needed twice
        *) missing="$missing $package" ;;
        esac
    done
}

has_redis() { # has_redis PROGRAM: that of Redis, or that of Valkey
    has "redis-$1" || has "valkey-$1"
}

compiles() { # compiles COMPILER OPTION...
    program=$(mktemp) && printf '#include <stdio.h>\nint main(void) { return puts(""); }\n' |
        "$@" -x c - -o "$program" >/dev/null 2>&1
    status=$?
    rm -f "$program"
    return $status
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

runtime=libclang-rt-dev # clang's part of the sanitizers, on Debian
plugins="python3-pytest python3-pytest-timeout" # Debian and Fedora
compiles gcc || need "compiles the servers" "gcc libc6-dev" "gcc glibc-devel" "gcc"
compiles gcc -fsanitize=thread || need "finds data races" - "libtsan libasan libubsan" -
includes liburing.h || need "compiles 11" liburing-dev liburing-devel liburing
finds_python || need "grades them" "python3 $plugins" "python3 $plugins" \
    "python python-pytest python-pytest-timeout"
has valgrind || need "make memcheck" valgrind valgrind valgrind
has bsdcat || need "make class" libarchive-tools "bsdtar bsdcat" libarchive
has gdb || need "debugs a running server" gdb gdb gdb
has strace || need "shows its system calls" strace strace strace
has ss || need "ss: shows its connections" iproute2 iproute iproute2
has nc || need "nc: a client in the terminal" netcat-openbsd netcat openbsd-netcat
has_redis server && has_redis cli && has_redis benchmark || need "speaks to 12" \
    "redis-server redis-tools" valkey valkey
imports redis || need "speaks to 12" python3-redis python3-redis python-redis
compiles clang || need "make lint, make test" clang clang clang
compiles clang -fsanitize=thread || need "sanitizers of clang" $runtime compiler-rt compiler-rt
has clang-format || need "make format, make lint" clang-format clang-tools-extra clang
has flake8 || need "make lint, make test" flake8 python3-flake8 flake8
if [ -n "$LAB_BENCH" ]; then
    includes uv.h || need "make bench" libuv1-dev libuv-devel libuv
    includes event2/event.h || need "make bench" libevent-dev libevent-devel libevent
    includes ev.h || includes libev/ev.h || need "make bench" libev-dev libev-devel libev
    has dot || need "make pictures" graphviz graphviz graphviz
fi
if [ -n "$LAB_SITE" ]; then
    has node || need "make site" nodejs nodejs nodejs
    has npm || need "make site" npm nodejs-npm npm
    has chromium || has chromium-browser || has google-chrome ||
        need "tests the site" chromium chromium chromium
fi

# What npm installs is below build/: the same versions for everybody, by the lockfile.
install_modules() {
    site=$(dirname "$0")/../docs/site
    modules=$(dirname "$0")/../build/npm
    if cmp -s "$site/package-lock.json" "$modules/package-lock.json" &&
        [ -d "$modules/node_modules/vitepress" ]; then
        return
    fi
    echo "setup: npm installs VitePress in build/npm"
    rm -rf "$modules"
    if ! { mkdir -p "$modules" && cp "$site/package.json" "$site/package-lock.json" "$modules" &&
        (cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund); }; then
        rm -rf "$modules"
        echo "setup: npm has failed, see above; it needs registry.npmjs.org" >&2
        exit 1
    fi
}

if [ -z "$missing" ]; then
    [ -z "$LAB_SITE" ] || install_modules
    echo "setup: everything is here"
    exit 0
fi

install() { # install [AS-ROOT...]
    case $manager in
    apt-get)
        "$@" apt-get update -q || return
        case $missing in # Ubuntu 22.04 has no such package: its clang has that in it
        *" $runtime"*)
            apt-cache show $runtime >/dev/null 2>&1 ||
                missing=${missing%%" $runtime"*}${missing#*" $runtime"}
            ;;
        esac
        "$@" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends $missing
        ;;
    dnf) "$@" dnf install -y --setopt=install_weak_deps=False $missing ;;
    pacman) "$@" pacman -S --needed --noconfirm $missing ;;
    esac
}

case $manager in
"")
    echo "setup: apt-get, dnf and pacman are not here; please install what is missing by hand" >&2
    echo "setup: the names above are those of Debian; docs/platforms.md has others" >&2
    exit 1
    ;;
pacman) by_hand="pacman -S --needed$missing" ;;
*) by_hand="$manager install$missing" ;;
esac
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
        echo "setup: needs root to install; run as root: $by_hand" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "setup: installs$missing"
if ! install $as_root; then
    echo "setup: $manager has failed, see above; the lab needs these packages:$missing" >&2
    [ $manager != pacman ] ||
        echo "setup: its list of packages may be old: sudo pacman -Syu, then make setup" >&2
    exit 1
fi
[ -z "$LAB_SITE" ] || install_modules
echo "setup: done"
