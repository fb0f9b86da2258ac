#!/usr/bin/env bash
# Make .venv if it is missing, broken, or was made for another folder. Quick when it is sound.
# PYTHON names the interpreter to make it with.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
root=$(pwd -P)
marker=.venv/agspec-root

fail() {
  printf 'set-up: %s\n' "$1" >&2
  exit 1
}

if [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null; then
  [ -f "$marker" ] && [ "$(cat "$marker")" = "$root" ] && exit 0
  # An environment made by hand in this very folder is taken as it is.
  if [ ! -f "$marker" ] && grep -qF " $root/.venv" .venv/pyvenv.cfg; then
    printf '%s\n' "$root" >"$marker"
    exit 0
  fi
fi

command -v "$python" >/dev/null || fail "$python is not there (install Python 3.11 or newer, or say make PYTHON=…)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || fail "$("$python" -V) is too old (3.11 or newer is needed; make PYTHON=python3.12 …)"
"$python" -c 'import ensurepip, venv' 2>/dev/null \
  || fail "$python has no venv module (on Debian: apt-get install python3-venv)"
"$python" -c 'import os, sys, sysconfig as s
sys.exit(not os.path.exists(os.path.join(s.get_path("include"), "Python.h")))' \
  || fail "$python has no C headers (on Debian: apt-get install python3-dev)"
command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null \
  || fail "no C++ compiler (on Debian: apt-get install g++)"
command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null \
  || fail "no C compiler (on Debian: apt-get install gcc)"

printf 'set-up: making .venv with %s\n' "$("$python" -V)"
rm -rf .venv build/stamps
"$python" -m venv .venv || fail "python -m venv failed (its message is above)"
printf '%s\n' "$root" >"$marker"
