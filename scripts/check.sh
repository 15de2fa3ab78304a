#!/usr/bin/env bash
# `make check`: format, lints, docs and the checks of the house (`cargo xtask`). Runs all of them and fails at the
# end if one failed.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

need_build_tools
need_component rustfmt rustfmt || exit 1
need_component clippy clippy-driver || exit 1

failed=()
step() { # NAME COMMAND…
  local name=$1
  shift
  say "check: $name"
  "$@" || failed+=("$name")
}
parse_scripts() {
  local script
  for script in .ci/run scripts/*.sh; do bash -n "$script" || return 1; done
}

step "format" cargo fmt --all --check
step "lints" cargo clippy --workspace --all-targets --quiet -- -D warnings
step "docs" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
step "scripts" parse_scripts
step "house rules" cargo xtask check

if [ "${#failed[@]}" -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
say "all checks passed"
