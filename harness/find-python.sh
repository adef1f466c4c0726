# Prints the first Python that can run the lab: 3.10 or later, with pytest and its two plugins. With
# arguments, it becomes that Python: `sh harness/find-python.sh -m harness grade`.
#
# $LAB_PYTHON comes first. The python3 on PATH may lack pytest where the system's own has it.
# Variables that change what Python does are left out. Only where no Python has pytest without
# PYTHONPATH, as with the modules of a cluster, it counts.

path=$PYTHONPATH
# Which letters A-Z has depends on the language: in Turkish there is no I among them.
for name in $({ env | LC_ALL=C sed -n 's/^\(PYTHON[A-Z0-9_]*\)=.*/\1/p'; } 2>/dev/null); do
    [ "$name" = PYTHONDONTWRITEBYTECODE ] || unset "$name"
done
export PYTHONUTF8=1

find_python() {
    for python in "$LAB_PYTHON" python3 /usr/bin/python3 /usr/local/bin/python3; do
        if [ -n "$python" ] && "$python" - 2>/dev/null <<'END'
import sys
import pytest, pytest_timeout
sys.exit(sys.version_info < (3, 10))
END
        then
            return
        fi
    done
    return 1
}

if ! find_python && ! { [ -n "$path" ] && export PYTHONPATH="$path" && find_python; }; then
    echo 'no Python has pytest and pytest-timeout: run "make setup"' >&2
    exit 1
fi
if [ $# -eq 0 ]; then
    echo "$python"
else
    exec "$python" "$@"
fi
