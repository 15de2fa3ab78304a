#!/usr/bin/env bash
# How many calls of a small real model are well formed, free and held to the calls of each turn by a grammar. Prints figures;
# fails where a held call is not well formed. Where the model cannot be installed it succeeds and says SKIPPED in its last line.
# Environment: HAFT_TEST_MODEL (default qwen2.5-coder-0.5b), HAFT_TEST_DIALECT (look at one dialect), and those of start-llm.sh.
set -euo pipefail
export HAFT_TEST_MODEL=${HAFT_TEST_MODEL:-qwen2.5-coder-0.5b}
. "$(dirname "$0")/lib.sh"

trap stop_model EXIT
need_build_tools
status=0
start_model || status=$?
if [ "$status" -eq 3 ]; then
  echo "SKIPPED: grammars on a real model: $model_fault"
  exit 0
fi
[ "$status" -eq 0 ] || { say "the model server does not start"; exit 1; }
HAFT_TEST_MODEL_URL="$model_url#$model_name" \
  cargo test --package haft-models --test it real_model -- --nocapture
