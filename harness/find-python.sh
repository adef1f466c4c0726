# Prints the first Python that can run the lab: 3.10 or later, with pytest and its two plugins.
# $LAB_PYTHON comes first. The python3 on PATH may lack pytest where the system's own has it.

for python in "$LAB_PYTHON" python3 /usr/bin/python3 /usr/local/bin/python3; do
    if [ -n "$python" ] && "$python" - 2>/dev/null <<'END'
import sys
import pytest, xdist, pytest_timeout
sys.exit(sys.version_info < (3, 10))
END
    then
        echo "$python"
        exit 0
    fi
done
echo 'no Python has pytest, pytest-xdist and pytest-timeout: run "make setup"' >&2
exit 1
