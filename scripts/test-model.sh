#!/usr/bin/env bash
# `make test-model`: a run of haft on a real local model, by chat completions and by Anthropic's Messages, each with calls in text
# and with native ones. It asserts on the protocol, not on wording: the call was parsed, the tool ran, its result went back, the run
# ended, the journal verifies.
# Where the model cannot be installed it succeeds and says SKIPPED in its last line.
#
#   test-model.sh [DIR]     DIR: keep the runs' events, their logs and the answer of `audit verify` there
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

# one_run NAME [--native]: the task on the model entry NAME.
one_run() {
  local status=0 events=$out/events-$1.jsonl log=$out/log-$1.txt
  say "running: haft run --profile $profile --model $1 --json \"$task\""
  timeout "${HAFT_TEST_LIMIT_S:-900}" "$haft" --home "$home" run --profile "$profile" --model "$1" --json "$task" \
    </dev/null >"$events" 2>"$log" || status=$?
  if [ "$status" -ne 0 ]; then
    say "haft run ended with exit code $status"
  else
    python3 scripts/check_run.py "$events" "${@:2}" && return
  fi
  say "its events:"
  tail -n 40 "$events" >&2
  say "its log:"
  tail -n 40 "$log" >&2
  exit 1
}

one_run local
# The same server by Anthropic's Messages; it has read the prompt already.
one_run messages
one_run native --native
one_run native-messages --native
"$haft" --home "$home" audit verify >"$out/verify.txt" 2>&1 || {
  say "haft audit verify found something:"
  cat "$out/verify.txt" >&2
  exit 1
}
say "haft audit verify: $(tail -n 1 "$out/verify.txt")"
echo "real-model: 4 passed, 0 failed"
