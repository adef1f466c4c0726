# Installs the programs that the lab needs and this machine does not have, with apt-get, dnf or
# pacman. If none is missing it does nothing, and needs no network.

say() {
    echo "setup: $*" >&2
}

# With musl harness/server/preload does not compile, since it replaces functions as glibc declares
# them, and 07 to 11 include <sys/queue.h>. Installing packages does not change that.
case $(ldd --version 2>&1) in
"musl libc"*)
    say "this system uses musl, and the lab needs glibc; nothing is installed."
    say "use Debian, Ubuntu, Fedora or Arch, in a container too: docs/platforms.md"
    exit 1
    ;;
esac

# How to look

has() { # has PROGRAM...: one of them
    for program; do
        command -v "$program" >/dev/null && return
    done
    return 1
}

includes() { # includes HEADER...: one of them
    for header; do
        echo "#include <$header>" | gcc -E -x c - >/dev/null 2>&1 && return
    done
    return 1
}

compiles() { # compiles COMPILER OPTION...
    program=$(mktemp) && printf '#include <stdio.h>\nint main(void) { return puts(""); }\n' |
        "$@" -x c - -o "$program" >/dev/null 2>&1
    status=$?
    rm -f "$program"
    return $status
}

imports() {
    sh "$(dirname "$0")/find-python.sh" -c "import $1" >/dev/null 2>&1
}

bench() { # bench LOOK: only if make bench is to work
    [ -z "$LAB_BENCH" ] || "$@"
}

site() { # site LOOK: only if make site is to work
    [ -z "$LAB_SITE" ] || "$@"
}

manager=
for known in apt-get dnf pacman; do
    [ -n "$manager" ] || ! has $known || manager=$known
done

# How to look, what for, and the packages of Debian, Fedora and Arch: "-" if another one has it.
missing=
while IFS='|' read -r look what debian fedora arch; do
    $look </dev/null && continue
    case $manager in
    dnf) packages=$fedora ;;
    pacman) packages=$arch ;;
    *) packages=$debian ;;
    esac
    [ "$packages" != - ] || continue
    echo "missing: $packages ($what)"
    for package in $packages; do
        case "$missing " in
        *" $package "*) ;; # one package may be needed twice
        *) missing="$missing $package" ;;
        esac
    done
done <<'END'
compiles gcc|compiles the servers|gcc libc6-dev|gcc glibc-devel|gcc
compiles gcc -fsanitize=thread|finds data races|-|libtsan libasan libubsan|-
includes liburing.h|compiles 11|liburing-dev|liburing-devel|liburing
imports pytest_timeout|grades them|python3 python3-pytest python3-pytest-timeout|python3 python3-pytest python3-pytest-timeout|python python-pytest python-pytest-timeout
has valgrind|make memcheck|valgrind|valgrind|valgrind
has bsdcat|make class|libarchive-tools|bsdtar bsdcat|libarchive
has gdb|debugs a running server|gdb|gdb|gdb
has strace|shows its system calls|strace|strace|strace
has ss|ss: shows its connections|iproute2|iproute|iproute2
has nc|nc: a client in the terminal|netcat-openbsd|netcat|openbsd-netcat
has redis-server valkey-server|speaks to 12|redis-server|valkey|valkey
has redis-cli valkey-cli|speaks to 12|redis-tools|valkey|valkey
has redis-benchmark valkey-benchmark|speaks to 12|redis-tools|valkey|valkey
imports redis|speaks to 12|python3-redis|python3-redis|python-redis
includes hiredis/hiredis.h|speaks to 12|libhiredis-dev|hiredis-devel|hiredis
compiles clang|make lint, make test|clang|clang|clang
compiles clang -fsanitize=thread|sanitizers of clang|libclang-rt-dev|compiler-rt|compiler-rt
has clang-format|make format, make lint|clang-format|clang-tools-extra|clang
has flake8|make lint, make test|flake8|python3-flake8|flake8
bench includes uv.h|make bench|libuv1-dev|libuv-devel|libuv
bench includes event2/event.h|make bench|libevent-dev|libevent-devel|libevent
bench includes ev.h libev/ev.h|make bench|libev-dev|libev-devel|libev
bench has dot|make pictures|graphviz|graphviz|graphviz
site has node|make site|nodejs|nodejs|nodejs
site has npm|make site|npm|nodejs-npm|npm
site has chromium chromium-browser google-chrome|tests the site|chromium|chromium|chromium
END

install() { # install [AS-ROOT...]
    case $manager in
    apt-get)
        "$@" apt-get update -q || return
        apt-cache show libclang-rt-dev >/dev/null 2>&1 || # in Ubuntu 22.04 clang has that in it
            missing=$(echo "$missing " | sed 's/ libclang-rt-dev / /')
        "$@" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends $missing
        ;;
    dnf) "$@" dnf install -y --setopt=install_weak_deps=False $missing ;;
    pacman) "$@" pacman -S --needed --noconfirm $missing ;;
    esac
}

if [ -n "$missing" ]; then
    if [ -z "$manager" ]; then
        say "apt-get, dnf and pacman are not here; please install what is missing by hand"
        say "the names above are those of Debian; docs/platforms.md has others"
        exit 1
    fi
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || { say "needs root to install$missing"; exit 1; }
        as_root=sudo
    fi
    echo "setup: installs$missing"
    if ! install $as_root; then
        say "$manager has failed, see above; the lab needs these packages:$missing"
        [ $manager != pacman ] ||
            say "its list of packages may be old: sudo pacman -Syu, then make setup"
        exit 1
    fi
fi

# What npm installs is below build/: the same versions for everybody, by the lockfile.
lab=$(dirname "$0")/..
if [ -n "$LAB_SITE" ] && ! cmp -s "$lab/docs/site/package-lock.json" "$lab/build/npm/package-lock.json"; then
    rm -rf "$lab/build/npm" && mkdir -p "$lab/build/npm" &&
        cp "$lab/docs/site/package.json" "$lab/docs/site/package-lock.json" "$lab/build/npm" &&
        npm ci --prefix "$lab/build/npm" --ignore-scripts --no-audit --no-fund ||
        { rm -rf "$lab/build/npm"; say "npm has failed; it needs registry.npmjs.org"; exit 1; }
fi
echo "setup: everything is here"
