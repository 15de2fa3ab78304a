#!/usr/bin/env bash
# `make run`: builds haft and starts a conversation with the demo model. Without a terminal it reads lines from
# standard input and ends at their end.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

build_haft
say "starting: haft chat --model demo"
exec "$haft" chat --model demo "$@"
