#!/usr/bin/env bash
# What `make run` does after set-up. In a terminal it opens the workspace, without one it fixes
# headless and exits as `agspec-tui fix` does (make itself turns every failure into exit code 2).
#
#   REPO    repository to work on; without it a fresh copy of the sample is made in build/sample
#   ISSUE   file or text of the issue; needed with REPO where there is no terminal
#   MODEL   catalogue name or path of a GGUF file
#   SAMPLE  folder of examples/ to copy where REPO is not given
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

# Not every shell expands the tilde in `make run REPO=~/x`.
expanded() { case $1 in "~/"*) printf '%s' "$HOME/${1#"~/"}" ;; *) printf '%s' "$1" ;; esac; }
repo=$(expanded "${REPO:-}")
issue=$(expanded "${ISSUE:-}")
model=$(expanded "${MODEL:-qwen2.5-coder-1.5b}")
sample=${SAMPLE:-word-count}

usage_error() {
  printf 'make run: %s\n' "$1" >&2
  exit 2
}

terminal=no
# The screen is drawn on the standard error.
if [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; then terminal=yes; fi
if [ -n "$repo" ]; then
  [ -d "$repo" ] || usage_error "REPO=$repo is not a folder (name the root of a repository)"
  [ "$terminal" = yes ] || [ -n "$issue" ] \
    || usage_error "without a terminal REPO needs an issue (add ISSUE=file or ISSUE='text')"
fi

# A folder named like a command is still a folder.
case $repo in "" | /*) ;; *) repo=./$repo ;; esac

[ -f "$model" ] || agspec-tui models pull "$model"

if [ -z "$repo" ]; then
  repo=./build/sample
  scripts/sample.sh "$repo" "$sample"
  if [ "$terminal" = yes ] && [ -z "$issue" ]; then
    printf '\n  A sample repository with a bug is in %s: %s. Say it in your words.\n\n' \
      "$repo" "$(sed -n '1s/^# //p' "$repo/ISSUE.md")"
    sleep 2
  fi
  issue=${issue:-$([ "$terminal" = yes ] || echo "$repo/ISSUE.md")}
fi

if [ "$terminal" = yes ]; then
  exec agspec-tui "$repo" --model "$model" ${issue:+--issue "$issue"}
fi

code=0
agspec-tui fix "$repo" --model "$model" --issue "$issue" --yes || code=$?
printf 'make run: agspec-tui fix ended with exit code %d\n' "$code"
exit "$code"
