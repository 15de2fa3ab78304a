#!/usr/bin/env bash
# `make try-presets`: starts the real local model and lets every preset work on one task, in a home of its own, as a person
# would see it. It judges nothing: a run that fails is shown like one that works. docs/guide/presets-on-a-real-model.md tells of one.
#
#   try-presets.sh [PRESET…]     only these presets
# Environment: HAFT_TEST_LIMIT_S (default 900; seconds for one run), HAFT_TEST_ROUNDS (default 6; turns with calls of one run), and
# those of start-llm.sh.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
trap 'stop_model; rm -rf "$work"' EXIT

build_haft
haft=$(cd "$(dirname "$haft")" && pwd)/$(basename "$haft")
start_model || { say "cannot start the model${model_fault:+: $model_fault}"; exit 1; }

home=$work/home
mkdir -p "$home" "$work/notes"
write_model_home "$home"
printf 'oats\nmilk\napples\n' >"$work/notes/list.txt"
"$haft" --home "$home" project add "$work/notes" --id notes >/dev/null

# A small model goes on calling when it is done: each preset is held to a few turns, after which Haft asks for a last word.
mapfile -t all < <("$haft" --home "$home" profile list | cut -d' ' -f1)
mkdir "$home/profiles"
for preset in "${all[@]}"; do
  printf -- '---\nextends: %s\nbudget: {rounds: %s}\n---\n' "$preset" "${HAFT_TEST_ROUNDS:-6}" >"$home/profiles/$preset.md"
done

task_of() { # PRESET: what suits its tools
  case $1 in
    default) echo "Read list.txt and tell me what is on it.";;
    artifactflow) echo "Create an artifact with the id packing-list that holds a packing list of four things for a day at the sea.";;
    nanoclaw) echo "What is the weather in Oslo? Use get_weather.";;
    tauritavern) echo "Write two sentences about a lighthouse at night to output/main.md, commit them, then finish.";;
    ethan) echo "Read the file $work/notes/list.txt and tell me what is in it.";;
    locked) echo "What is 2 to the power of 64? Use the calculator.";;
    *) echo "What is 23*19?";;
  esac
}

try() { # PRESET
  local task status=0
  # With few tools the model calls natively; with many it does better when its calls stand in its text.
  local options=(--model local)
  task=$(task_of "$1")
  case $1 in
    ethan) options=(--model native-messages);;
    locked) options=(--model native --project notes);;
    default | nanoclaw) options+=(--project notes);;
  esac
  printf '\n$ haft run --profile %s %s "%s"\n' "$1" "${options[*]}" "${task//"$work"/DIR}"
  timeout "${HAFT_TEST_LIMIT_S:-900}" "$haft" --home "$home" --profile "$1" "${options[@]}" run "$task" \
    </dev/null 2>&1 | sed "s|$work|DIR|g" || status=$?
  [ "$status" -eq 0 ] || printf '(exit code %s)\n' "$status"
  case $1 in
    artifactflow)
      printf '$ haft artifacts get packing-list --session last\n'
      "$haft" --home "$home" artifacts get packing-list --session last 2>&1 || true;;
    tauritavern)
      printf '$ haft sessions show last\n'
      "$haft" --home "$home" sessions show last 2>&1 || true;;
  esac
}

[ "$#" -eq 0 ] || all=("$@")
for preset in "${all[@]}"; do try "$preset"; done
printf '\n$ haft audit verify\n'
"$haft" --home "$home" audit verify
