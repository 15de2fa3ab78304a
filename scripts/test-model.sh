#!/usr/bin/env bash
# `make test-model`: one run of haft on a real local model. It asserts on the protocol, not on wording: the call was
# parsed, the tool ran, its result went back, the run ended, the journal verifies.
# Where the model cannot be installed it succeeds and says SKIPPED in its last line.
#
#   test-model.sh [DIR]     DIR: keep the run's events, its log and the answer of `audit verify` there
# Environment: HAFT_TEST_PROFILE (default scripts/model-profile.md), HAFT_TEST_TASK, HAFT_TEST_LIMIT_S (default 900), and those of
# start-llm.sh.
set -euo pipefail
keep=${1:+$(mkdir -p "$1" && cd "$1" && pwd)}
. "$(dirname "$0")/lib.sh"

home=$(mktemp -d)
trap 'stop_model; rm -rf "$home"' EXIT

build_haft
status=0
start_model || status=$?
if [ "$status" -eq 3 ]; then
  echo "SKIPPED: the test on a real model: $model_fault"
  exit 0
fi
[ "$status" -eq 0 ] || { say "the model server does not start"; exit 1; }

write_model_home "$home"
out=${keep:-$home/out}
mkdir -p "$out"
profile=${HAFT_TEST_PROFILE:-scripts/model-profile.md}
task=${HAFT_TEST_TASK:-What is 23*19? Use the calculator tool.}
show() {
  say "its events:"
  tail -n 40 "$out/events.jsonl" >&2
  say "its log:"
  tail -n 40 "$out/log.txt" >&2
}

say "running: haft run --profile $profile --model local --json \"$task\""
timeout "${HAFT_TEST_LIMIT_S:-900}" "$haft" --home "$home" run --profile "$profile" --model local --json "$task" \
  </dev/null >"$out/events.jsonl" 2>"$out/log.txt" || status=$?
if [ "$status" -ne 0 ]; then
  say "haft run ended with exit code $status"
  show
  exit 1
fi
python3 scripts/check_run.py "$out/events.jsonl" || { show; exit 1; }
"$haft" --home "$home" audit verify >"$out/verify.txt" 2>&1 || {
  say "haft audit verify found something:"
  cat "$out/verify.txt" >&2
  exit 1
}
say "haft audit verify: $(tail -n 1 "$out/verify.txt")"
echo "real-model: 1 passed, 0 failed"
