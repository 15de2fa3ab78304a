#!/usr/bin/env bash
# `make run`: builds haft and starts a conversation with the demo model. Without a terminal it reads lines from
# standard input and ends at their end.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

build_haft
if [ ! -t 0 ]; then
  lines=$(cat)
  if [ -z "$lines" ]; then
    say "no terminal, and no line on standard input: the demo gets these lines"
    lines=$(printf '%s\n' 'calculator expression="(3 + 4) * 2^10"' \
      'create_artifact id=note title=Note content="Made by the demo."' 'read_artifact id=note')
    printf '%s\n' "$lines" >&2
  fi
  say "starting: haft chat --model demo"
  printf '%s\n' "$lines" | "$haft" chat --model demo "$@"
  exit
fi
say "starting: haft chat --model demo"
exec "$haft" chat --model demo "$@"
