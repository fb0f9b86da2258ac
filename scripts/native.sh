#!/usr/bin/env bash
# native.sh [SANITIZERS]: build the C++ core with its own tests and run them.
# SANITIZERS is `address,undefined` or `thread`; each has a build folder of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
sanitizers=${1:-}
build=build/native${sanitizers:+-${sanitizers//,/-}}
log=build/logs/${build#build/}.log
mkdir -p build/logs
if ! {
  cmake -S native -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGSPEC_BUILD_TESTS=ON \
    -DAGSPEC_SANITIZE="$sanitizers" \
    && cmake --build "$build"
} >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
ctest --test-dir "$build" --output-on-failure --no-tests=error
