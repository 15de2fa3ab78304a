#!/usr/bin/env bash
# `make test`: all tests. With cargo-nextest where it is installed, else with cargo test; documentation tests in both.
# Tests of the second journal reader run tools/verify_journal.py and have `second_reader` in their names; without
# python3 they are left out, and this script says so last. So it does where the cases of scripts/fetch-bfcl.sh are missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

need_build_tools
skipped=
if ! have python3; then
  say "python3 is missing; the second reader of the journal needs it"
  install_debian python3 || skipped=1
fi

cases=
bash scripts/fetch-bfcl.sh || cases="the BFCL cases cannot be fetched"

status=0
if cargo nextest --version >/dev/null 2>&1; then
  say "running the tests with cargo-nextest"
  filter=()
  [ -z "$skipped" ] || filter=(-E 'not test(second_reader)')
  cargo nextest run --workspace --no-fail-fast "${filter[@]}" || status=$?
  say "running the documentation tests"
  cargo test --workspace --doc --no-fail-fast || status=$?
else
  say "cargo-nextest is not installed; running the tests with cargo test"
  filter=()
  [ -z "$skipped" ] || filter=(-- --skip second_reader)
  cargo test --workspace --no-fail-fast "${filter[@]}" || status=$?
fi
[ -z "$skipped" ] || echo "SKIPPED: the tests of the second journal reader, since python3 is missing"
[ -z "$cases" ] || echo "SKIPPED: the tests on real functions and calls, since $cases"
exit "$status"
