#!/usr/bin/env bash
# phase.sh NAME COMMAND…: run one phase under a heading, say how long it took, keep its exit code.
set -uo pipefail
name=$1
shift
printf '── %s\n' "$name"
start=$SECONDS
code=0
"$@" || code=$?
if [ "$code" -eq 0 ]; then
  printf '── %s: ok, %d s\n' "$name" "$((SECONDS - start))"
else
  printf '── %s: FAILED with exit code %d after %d s\n' "$name" "$code" "$((SECONDS - start))" >&2
fi
exit "$code"
