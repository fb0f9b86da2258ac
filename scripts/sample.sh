#!/usr/bin/env bash
# sample.sh FOLDER NAME: copy one of examples/ into FOLDER, afresh, as a git repository.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
name=$2
if [ ! -f "examples/$name/ISSUE.md" ]; then
  printf 'sample: examples/%s has no ISSUE.md (SAMPLE names a folder of examples/)\n' "$name" >&2
  exit 2
fi

rm -rf "$folder"
mkdir -p "$folder"
cp -R "examples/$name/." "$folder/"
command -v git >/dev/null || exit 0
# The user's own hooks, signing and identity have no business in a scratch repository.
git=(git -C "$folder" -c core.hooksPath=/dev/null -c commit.gpgSign=false
  -c user.name=agspec-tui -c user.email=agspec-tui@localhost)
"${git[@]}" init --quiet
"${git[@]}" add --all
"${git[@]}" commit --quiet --message "The sample $name, with its bug"
