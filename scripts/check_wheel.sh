#!/usr/bin/env bash
# Installs the wheel of dist/ as a user without compilers does, then runs the quickstart and the smoke tests.
#   scripts/check_wheel.sh [PYTHON ...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- python3
export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
for python in "$@"; do
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  "$python" -m venv "$place/venv"
  # Only the environment's own programs are on this path: no compiler, no cmake.
  run() { env -u PYTHONPATH PATH="$place/venv/bin" HOME="$place" "$@"; }
  echo "install   $("$python" --version), without compilers"
  run pip --quiet --quiet --cache-dir "$(PATH=$PATH python3 -m pip cache dir)" install --only-binary :all: --find-links dist labeltrees
  run python -c 'import labeltrees, sys; sys.exit(not labeltrees.__file__.startswith(sys.prefix))'
  echo "run       labeltrees quickstart"
  (cd "$place" && run labeltrees quickstart >quickstart.txt 2>&1 </dev/null) || { cat "$place/quickstart.txt"; exit 1; }
  grep "The model is in" "$place/quickstart.txt"
  echo "run       the smoke tests"
  run pip --quiet --quiet install pytest hypothesis
  run python tests/run_smoke.py
  rm -rf "$place"
done
