# Event Loop Lab. `make` lists the commands; README.md says where to begin.
#
# Variables count only if they are given on make's command line. They reach Python through the
# environment as LAB_CH, LAB_DIR ...: no quoting is needed, and an exported DIR has no effect.
# make ends with 2 whenever a recipe fails. For the exit status of a grade (0 full marks, 1 less,
# 2 not judged) call python3 -m harness grade.

SHELL = /bin/sh
.DEFAULT_GOAL = help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# `make grade 03` and `make grade 03-poll-loop` are `make grade CH=03`.
chapter := $(filter 0% 1% 2% 3% 4% 5% 6% 7% 8% 9%,$(MAKECMDGOALS))
ifneq ($(chapter),)
$(if $(word 2,$(chapter)),$(error one chapter at a time: make grade CH=$(firstword $(chapter))))
$(if $(filter-out $(chapter),$(MAKECMDGOALS)),,$(error what is to be done? make grade CH=$(chapter)))
$(chapter): ; @:
endif

given = $(if $(filter command,$(origin $1)),$(value $1))
export LAB_CH     = $(or $(chapter),$(call given,CH))
export LAB_FROM   = $(call given,FROM)
export LAB_DIR    = $(call given,DIR)
export LAB_SERVER = $(call given,SERVER)
export LAB_PORT   = $(call given,PORT)
export LAB_T      = $(call given,T)
export LAB_V      = $(call given,V)
export LAB_SEED   = $(call given,SEED)
export LAB_ARGS   = $(call given,ARGS)
export LAB_FULL   = $(call given,FULL)
export LAB_N      = $(call given,N)
export LAB_ROWS   = $(call given,ROWS)
export LAB_CORES  = $(call given,CORES)
export LAB_BENCH  = $(call given,BENCH)
export LAB_PLOT   = $(call given,PLOT)
export LAB_ID     = $(call given,ID)
export LAB_GDB    = $(call given,GDB)
export LAB_INPUT  = $(call given,INPUT)
export LAB_SECONDS = $(call given,SECONDS)
export LAB_SUB    = $(call given,SUB)
export LAB_JOBS   = $(call given,JOBS)
export LAB_ROSTER = $(call given,ROSTER)
export LAB_LIST   = $(call given,LIST)
export LAB_ANON   = $(call given,ANON)
export LAB_ISOLATE = $(call given,ISOLATE)
export LAB_LATE   = $(call given,LATE)
export LAB_ENGINE = $(call given,ENGINE)
export LAB_SSHLOGIN = $(call given,SSHLOGIN)
export LAB_ERRORS = $(call given,ERRORS)
export LAB_OUT    = $(call given,OUT)
export LAB_FORMAT = $(call given,FORMAT)
export LAB_COLUMN = $(call given,COLUMN)
export LAB_GRADEBOOK = $(call given,GRADEBOOK)
export LAB_SITE   = $(call given,SITE)
export LAB_SERVE  = $(call given,SERVE)
export LAB_SOLUTIONS = $(call given,SOLUTIONS)
export LAB_PART   = $(call given,PART)
export LAB_REPO   = $(call given,REPO)
export LAB_ANSWERS = $(call given,ANSWERS)
export LAB_BASE   = $(call given,BASE)

# The Python that has pytest, found when a recipe runs: setup may have just installed it.
export LAB_PYTHON = $(value PYTHON)
python = exec sh harness/find-python.sh

VARIABLES = CH FROM DIR SERVER PORT T V SEED ARGS FULL N ROWS CORES BENCH PLOT ID GDB INPUT SECONDS \
    SUB ROSTER JOBS LIST ANON ISOLATE LATE ENGINE SSHLOGIN ERRORS OUT FORMAT COLUMN GRADEBOOK SITE SERVE \
    SOLUTIONS REPO BASE PART ANSWERS ALL TESTARGS RECORD PYTHON CC CFLAGS MAKEFLAGS SHELL
unknown := $(firstword $(filter-out $(VARIABLES) -%,$(foreach name,$(.VARIABLES), \
    $(if $(filter command,$(origin $(name))),$(name)))))
$(if $(unknown),$(error $(unknown)= is no variable of this Makefile; `make` lists them, in capitals))

# A handout comes without some directories.
needs = @test -d $1 || { echo "make $@: $1 is not here: this copy of the lab is a handout" >&2; exit 2; }

# A handout has no solutions, and its reader needs no heading that begins with "With" or "Working".
help:
	@sed -n $(if $(wildcard solutions),,-e '/^##  W/,/^##$$/d') -e 's/^##//p' Makefile

##  The first evening
##    make setup             installs what is missing (apt-get, dnf, pacman)
##    make doctor            what this machine cannot judge, and what mends it
##    make grade             a board of all chapters; grades what has changed
##    make grade 03          grades chapters/03-*, and says what to do next
##      T=03.2               only the tests of that TODO, or with that name
##      V=1                  every failure in full
##      ERRORS=1             each failure also as file:line:, for an editor
##      FROM=solutions       the solution instead; or DIR=path
##      SERVER='cmd {port}'  any server; PORT=1234 if its port is fixed
##    make run CH=03         builds the server and runs it (ARGS=-v, PORT=)
##    make demo CH=03        the problem that the chapter is about
##      PART=2               only of that part, where the handout has parts
##    make memcheck CH=03    grades it under valgrind
##    make trace CH=03 T=..  one test, call by call, and where the bytes were:
##                           in the terminal, and as a page (or ID=...)
##    make replay ID=...     runs a failed test again, on the server as it is;
##      GDB=1                stops in gdb before the first byte is sent
##    make new DIR=mine      an empty program of your own, for DIR=mine
##    make watch CH=03       grades again whenever a file is saved
##    make fuzz CH=05        malformed messages for the reader (SECONDS=20);
##      INPUT=hex            one message that went wrong, again
##    make answers CH=03     of the questions in the handout, once it has 100
##    make handin CH=03      packs your chapter as one file (OUT=x.tar.gz)
##
##  With a class
##    make handout           packs the lab for students, without solutions
##      CH=04                with chapters 01 to 04 only; OUT=x.tar.gz
##      ANSWERS=0            also without what `make answers` shows
##    make class CH=04 SUB=d grades each submission in d, and makes a page;
##                           again: only what is missing or has changed
##      JOBS=2               so many at a time
##      ROSTER=names.csv     a table of files and students' names
##      ISOLATE=auto         bubblewrap, landlock or none
##      LIST=1               prints a command for each instead, for other machines
##    make appeal ID=...     a failure in one file, to be judged again (DIR=)
##    make export CH=03 FORMAT=junit   the last grade for another program;
##      FORMAT= lists the formats; OUT=file; canvas is filled in for a class:
##      FORMAT=canvas GRADEBOOK=g.csv COLUMN='Lab 3' OUT=filled.csv
##    make similar CH=04 SUB=dir   which submissions in dir share more than the
##                           skeleton explains, as a table and a page
##    make gradescope CH=03  an autograder for Gradescope (OUT=x.zip)
##
##  With the solutions
##    make diff CH=03        the chapter against its solution
##    make lesson CH=03      the solution of 02 against that of 03
##
##  How fast is it
##    make bench             all solutions beside libuv, libevent and libev;
##      CH=04                your server instead, or SERVER='cmd {port}';
##      ROWS=abc N=3         some rows, in 3 rounds; CORES=1 on one core
##      PLOT=1               draws the tables, too
##    make setup BENCH=1     installs these libraries, and Graphviz
##
##  The documents as a web site
##    make site              builds it in build/site (REPO=url, BASE=/path/)
##      SERVE=1              shows it, too (PORT=); OUT=dir
##      SOLUTIONS=1          with solutions and answers, for instructors
##      CH=04                with the code of chapters 01 to 04 only
##    make setup SITE=1      installs Node, npm, VitePress and Chromium
##
##  Working on the lab
##    make check             the lab's own tests that need no server
##    make test              these, and those of grades with a sample of wrong
##                           servers; FULL=1 all of them; SEED=2 another sample
##      TESTARGS='-k name'   some of them; RECORD=1 keeps what they see as
##                           what is expected from now on
##    make steady CH=04      grades the solution on busy cores (N=10 times)
##                           and reports each point lost; or DIR=, SERVER=
##    make wrong-servers     those that the claims must fail, judged (CH=, T=)
##    make skeletons         writes chapters/ again from solutions/
##    make pictures          draws docs/pictures/ again from the .dot files
##    make format            clang-format
##    make lint              warnings of gcc, clang, cppcheck, flake8; spelling;
##                           compiles for arm64
##    make clean             removes build/, but no results of classes (ALL=1)

setup:
	@sh harness/setup.sh

tcl:
	@echo "sh docs/recipes/redis-tests.sh DIR PORT runs the tests of Redis" >&2; exit 2

# Each is a line of COMMANDS in harness/commands.py.
COMMANDS = grade run new watch replay trace demo fuzz answers doctor bench diff lesson skeletons handout handin \
    appeal class similar export gradescope site wrong-servers pictures steady
$(COMMANDS):
	@$(python) -m harness $@

memcheck:
	@$(python) -m harness grade --memcheck

# It starts Python hundreds of times: where this is set, each of them would compile the lab again.
test check: export PYTHONDONTWRITEBYTECODE =
test: tests = harness/tests
check: tests = harness/tests/tree harness/tests/parts
test check:
	$(call needs,harness/tests)
	@$(python) -m pytest -q -o console_output_style=classic $(tests) $(if $(call given,RECORD),--record) $(call given,TESTARGS)

# The results of classes stay, unless ALL=1 says otherwise.
clean:
	@if [ "$(if $(call given,ALL),all)" ]; then \
	    for class in build/class/*/*/; do \
	        [ ! -d "$$class" ] || echo "make clean: $$class goes, too"; done; \
	    rm -rf build; \
	elif [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name class -exec rm -rf {} +; fi
	@find harness -name __pycache__ -prune -exec rm -rf {} +

SOURCES = $(shell find solutions -name '*.[ch]' -type f)
TOYS = $(wildcard docs/toys/*.c)
HARNESS_C = $(wildcard harness/*/*/*.[ch] harness/*/*/*/*.[ch] harness/*/*/*/*/*.[ch])
SERVERS = $(dir $(wildcard chapters/*/main.c solutions/*/main.c))
SHIM = $(filter-out %/alloc.c %/start.c,$(wildcard harness/server/preload/*.c))
WARNINGS = -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread
# Those of $$program, a directory or a file; the rooms of a directory include from there.
files_of_program = $$(ls $${program%/}/*.c $${program%/}/*/*.c 2>/dev/null | grep . || echo $$program)
# There is no liburing for arm64 here: those that need it are not linked.
uses_liburing = grep -Rq --include='*.[ch]' '<liburing\.h>' $$program
LIBRARIES = $$($(uses_liburing) && echo -luring)
ARM64_OUTPUT = $$($(uses_liburing) && echo -fsyntax-only || echo -o build/lint)
ARM64 = aarch64-linux-gnu-gcc
SPELLED = $(shell git ls-files README.md chapters docs harness solutions | grep -Ev 'zh|svg$$|json$$')
NO_MISTAKES = writen,nowns,nown,exat,agains,nin,ndoes,nd,hel,fro

format:
	$(call needs,solutions)
	@clang-format -i $(SOURCES) $(TOYS) $(HARNESS_C)
	@$(python) -m harness skeletons

lint:
	@mkdir -p build
	@for compiler in gcc clang; do for program in $(SERVERS) $(TOYS) harness/server/preload/start.c; do \
	    files=$(files_of_program); \
	    $$compiler $(WARNINGS) -iquote $${program%/*.c} $$files -o build/lint $(LIBRARIES) || exit 1; done; done
	@echo '#include <stdio.h>' | $(ARM64) -E -x c - >/dev/null 2>&1 || { \
	    echo "$(ARM64) and its C library are not installed: left out"; exit 0; }; \
	for program in $(SERVERS) $(TOYS) harness/server/preload/start.c; do \
	    files=$(files_of_program); \
	    $(ARM64) $(WARNINGS) -iquote $${program%/*.c} $$files $(ARM64_OUTPUT) || exit 1; done; \
	for shim in "$(SHIM)" harness/server/preload/alloc.c; do \
	    $(ARM64) $(WARNINGS) -U_FORTIFY_SOURCE -fPIC -shared $$shim -o build/lint || exit 1; done
	@clang-format --dry-run -Werror $(SOURCES) $(TOYS) $(HARNESS_C)
	@command -v codespell >/dev/null || { echo "codespell is not installed: left out"; exit 0; }; \
	codespell -L $(NO_MISTAKES) $(SPELLED)
	@command -v flake8 >/dev/null || { echo "flake8 is not installed: left out"; exit 0; }; \
	flake8 harness
	@command -v cppcheck >/dev/null || { echo "cppcheck is not installed: left out"; exit 0; }; \
	queue=$$(gcc -E -include sys/queue.h -x c /dev/null | grep -o '/[^"]*/sys/queue.h' | head -1); \
	for sources in $(SERVERS) docs/toys; do \
	    cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability \
	        --include=$$queue --inline-suppr $$sources || exit 1; done

.PHONY: help setup tcl memcheck test check clean format lint $(COMMANDS) $(chapter)
