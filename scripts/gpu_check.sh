#!/usr/bin/env bash
# One check of the engine on a bare machine with a GPU, without a network: docs/benchmarks.md.
#
#   gpu_check.sh pack DIR [OPTION…]            here: gather what the machine needs (gpu_pack.py --help)
#   gpu_check.sh run DIR OUT.json [OPTION…]    there: build, measure, write OUT.json (gpu_run.py --help)
#
# DIR holds a copy of this script, so that it is all the machine needs: `bash DIR/gpu_check.sh run …`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
step=${1:-}
[ $# -eq 0 ] || shift

case $step in
  pack)
    exec "${PYTHON:-$here/../.venv/bin/python}" "$here/gpu_pack.py" "$@"
    ;;
  run)
    PYTHONUNBUFFERED=1 exec "${PYTHON:-python3}" "$here/gpu_run.py" "$@"
    ;;
  *)
    echo "gpu_check.sh: ${step:-nothing} to do (pack DIR, or run DIR OUT.json)" >&2
    exit 2
    ;;
esac
