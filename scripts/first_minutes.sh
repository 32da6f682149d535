#!/usr/bin/env bash
# What a newcomer does first, in an empty home without caches (except pip's), with the time of every step.
#   scripts/first_minutes.sh wheel            # the wheel of dist/ (make wheel), without compilers on the path
#   scripts/first_minutes.sh source [COMMIT]  # pip install . in a clone, of COMMIT or the last one
#   scripts/first_minutes.sh make [COMMIT]    # make quickstart in a clone
# PYTHON chooses the interpreter. A line is: seconds, a tab, the step.
set -euo pipefail
case=${1:?wheel, source or make} commit=${2:-HEAD}
root=$(cd "$(dirname "$0")/.." && pwd)
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/home" "$place/bin"
cd "$place"

# Nothing of the caller's environment but how to reach packages. Settings of pip may be in a file of the home.
kept=(HOME="$place/home" LANG=C.UTF-8 PIP_CACHE_DIR="$("$python" -m pip cache dir)" PIP_DISABLE_PIP_VERSION_CHECK=1)
settings=$HOME/.config/pip/pip.conf
[ ! -f "$settings" ] || kept+=(PIP_CONFIG_FILE="$settings")
while IFS='=' read -r name value; do
  case $name in PIP_CACHE_DIR) ;; PIP_* | *_proxy | *_PROXY | SSL_CERT_* | REQUESTS_CA_BUNDLE) kept+=("$name=$value") ;; esac
done < <(env)
if [ "$case" = wheel ]; then
  path=$place/venv/bin  # no compiler, no cmake
else
  path=$place/venv/bin:/usr/local/bin:/usr/bin:/bin
fi
run() { env -i "${kept[@]}" PATH="$path" "$@"; }

step() { # step NAME COMMAND...: run it, print its time; its output only if it fails
  local name=$1 start end
  shift
  start=$(date +%s.%N)
  "$@" >"$place/log" 2>&1 </dev/null || { echo "failed: $name" >&2; tail -n 40 "$place/log" >&2; exit 1; }
  end=$(date +%s.%N)
  printf '%.2f\t%s\n' "$("$python" -c "print($end - $start)")" "$name"
}

if [ "$case" = wheel ]; then
  cp "$root/README.md" .
else
  step "git clone" git clone --quiet "$root" clone
  git -C clone checkout --quiet "$(git -C "$root" rev-parse "$commit")"
  cp clone/README.md .
fi
"$python" - <<'EOF'
import re
text = open("README.md", encoding="utf-8").read()
open("readme.py", "w", encoding="utf-8").write(re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)[1])
EOF

if [ "$case" = make ]; then
  step "make quickstart" run make -C clone quickstart PYTHON="$python"
  du -sm clone/.venv | awk '{ printf "%d\tMB: size of the environment\n", $1 }'
  exit
fi
step "python -m venv" "$python" -m venv venv
if [ "$case" = wheel ]; then
  step "pip install labeltrees" run pip install --quiet --only-binary :all: --find-links "$root/dist" labeltrees
else
  step "pip install ." run pip install --quiet ./clone
fi
# The first run writes bytecode and warms the caches of the disk.
for try in 1 2 3 4 5; do
  step "import labeltrees" run python -c "import labeltrees"
  step "labeltrees --help" run labeltrees --help
done | sort -n | awk -F '\t' '!seen[$2]++'
step "the README's Python block" run python readme.py
step "labeltrees quickstart" run labeltrees quickstart
du -sm venv | awk '{ printf "%d\tMB: size of the environment\n", $1 }'
