#!/usr/bin/env bash
# Build the C++ core with its own tests and run them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/native
log=build/logs/native.log
mkdir -p build/logs
if ! {
  cmake -S native -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGSPEC_BUILD_TESTS=ON \
    && cmake --build "$build"
} >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
ctest --test-dir "$build" --output-on-failure --no-tests=error
