#!/usr/bin/env bash
# install.sh run|dev|package: one step of the set-up, inside .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
mkdir -p build/stamps build/logs

case $1 in
  run | dev)
    list=build/stamps/$1.txt
    "$python" scripts/requirements.py "$1" >"$list"
    "$python" -m pip install -qq --requirement "$list"
    ;;
  package)
    # CMAKE_ARGS is meant for llama.cpp; the core takes its options from native/CMakeLists.txt.
    env -u CMAKE_ARGS "$python" -m pip install -qq --no-build-isolation --no-deps --editable .
    ;;
  *)
    echo "install.sh: unknown step $1" >&2
    exit 2
    ;;
esac
