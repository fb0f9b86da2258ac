#!/usr/bin/env bash
# Compare agspec_tui/_native.pyi with the compiled core.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m mypy.stubtest agspec_tui._native --allowlist tests/house/stubtest_allow.txt
