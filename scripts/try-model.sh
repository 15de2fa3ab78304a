#!/usr/bin/env bash
# `make try-model`: starts the real local model and lets it work on a task through `haft run`, as a person would see it.
#
#   make try-model TASK='How many words has "the quick brown fox"? Use a tool.'
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$(mktemp -d)
trap 'stop_model; rm -rf "$home"' EXIT

build_haft
start_model || { say "cannot start the model${model_fault:+: $model_fault}"; exit 1; }
write_model_home "$home"
task=${TASK:-What is 23*19? Use the calculator tool.}
say "running: haft run --profile scripts/model-profile.md --model local \"$task\""
"$haft" --home "$home" run --profile scripts/model-profile.md --model local "$task"
say "its journal:"
"$haft" --home "$home" audit verify
