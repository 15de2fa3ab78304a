# Shared by the scripts of this folder; to be sourced by bash. Sets the working folder to the repository's.
# What it installs it names first, and it installs system packages only as root.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

say() { printf 'haft: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# install_debian PACKAGE…: installs packages of Debian as root, saying so; else says what to do and fails.
install_debian() {
  if ! have apt-get; then
    say "please install $* (under Debian's names) with the package manager of this system"
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    say "please run: sudo apt-get install $*"
    return 1
  fi
  say "installing $* with apt-get, since it is missing"
  apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# need_build_tools: what a build needs beyond this repository: Rust, and a C compiler for the embedded SQLite.
need_build_tools() {
  if ! have cargo; then
    say "Rust is missing: install it with rustup (stable, 1.95 or later), then try again"
    exit 1
  fi
  if ! have cc; then
    say "a C compiler is missing; SQLite is built from source with it"
    install_debian gcc libc6-dev || exit 1
  fi
}

# need_component NAME PROGRAM: a component of the Rust toolchain (rustfmt, clippy).
need_component() {
  have "$2" && "$2" --version >/dev/null 2>&1 && return 0
  say "the Rust component $1 is missing: adding it with rustup"
  if ! { have rustup && rustup component add "$1" >&2; }; then
    say "please run: rustup component add $1"
    return 1
  fi
}

# build_haft: builds the binary and puts its path into $haft; $HAFT_BIN names one that is built already.
build_haft() {
  haft=${HAFT_BIN:-}
  [ -z "$haft" ] || return 0
  need_build_tools
  say "building haft (some minutes the first time)"
  cargo build --package haft-cli --bin haft >&2
  haft=${CARGO_TARGET_DIR:-target}/debug/haft
}

# start_model: starts the real model on a free port. Sets $model_url and $model_name; stop_model ends it.
# Returns 3 where the server or the weights cannot be installed, with the reason in $model_fault.
start_model() {
  local answer status=0
  model_fault=
  if ! have python3 || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    install_debian python3 python3-venv ca-certificates || {
      model_fault="python3 with venv is missing (it runs the model server)"
      return 3
    }
  fi
  model_name=${HAFT_TEST_MODEL:-qwen2.5-coder-1.5b}
  model_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  say "starting $model_name; the first time it fetches about 1.1 GB"
  answer=$(LLM_THREADS=${LLM_THREADS:-$(nproc 2>/dev/null || echo 1)} bash scripts/start-llm.sh "$model_port" "$model_name") ||
    status=$?
  if [ "$status" -ne 0 ]; then
    [ "$status" -ne 3 ] || model_fault="the weights of $model_name or their server cannot be installed here"
    return "$status"
  fi
  model_url=${answer##*url=}
  model_url=${model_url%% *}
}

stop_model() {
  [ -z "${model_port:-}" ] || bash scripts/start-llm.sh --stop "$model_port" >/dev/null 2>&1 || true
}

# write_model_home DIR: a home folder whose configuration knows the running model four times: calls in text as `local` (by chat
# completions) and `messages` (by Anthropic's Messages), native calls as `native` and `native-messages`.
write_model_home() {
  cat >"$1/haft.toml" <<EOF
# Qwen2.5-Coder never writes <tool_call>, which is a single token it was not trained on: hence the other tag.
[models.local]
url = "$model_url#$model_name"
dialect = "artifact-xml"
tag = "function_call"
temperature = 0
seed = 7
max_tokens = 300

[models.messages]
url = "$model_url#$model_name"
api = "anthropic"
dialect = "artifact-xml"
tag = "function_call"
temperature = 0
max_tokens = 300

[models.native]
url = "$model_url#$model_name"
temperature = 0
seed = 7
max_tokens = 300

[models.native-messages]
url = "$model_url#$model_name"
api = "anthropic"
temperature = 0
max_tokens = 300
EOF
}
