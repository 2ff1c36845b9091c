# SPDX-License-Identifier: Apache-2.0
# For the scripts `examples/run`, `tests/run` and `.ci/run`: brings a fresh Debian 12 machine to where they can begin.

# A line on a terminal that says what is being waited for; the next one, or an empty one, takes its place.
zero_say() {
  if [[ -t 2 ]]; then printf '\r\033[K%s' "$1" >&2; fi
}

# zero_packages SCRIPT LOG PACKAGE...
# Installs the packages that are missing, when it may; what that prints goes to the file LOG. Otherwise ends the script
# with one sentence that names them, and status 2.
zero_packages() {
  local script=$1 log=$2 package
  shift 2
  local missing=()
  for package in "$@"; do
    zero_has_package "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  zero_say "installing ${missing[*]} ..."

  local root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      root=(false)
    else
      root=(sudo -n)
    fi
  fi
  if [[ ${root[*]} != false ]] && command -v apt-get >/dev/null; then
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
    if "${apt[@]}" update >>"$log" 2>&1 </dev/null &&
      "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
      zero_say ''
      return 0
    fi
    zero_say ''
    echo "$script: the packages ${missing[*]} could not be installed; $log says why." >&2
    exit 2
  fi
  zero_say ''
  echo "$script: please install the Debian packages ${missing[*]}." >&2
  exit 2
}

# zero_has_package PACKAGE: whether what the package is needed for is there, wherever it came from.
zero_has_package() {
  case $1 in
    ninja-build) command -v ninja >/dev/null ;;
    clang) command -v clang++ >/dev/null ;;
    clang-19) command -v clang++-19 >/dev/null ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 ;;
    libboost-dev) zero_has_header boost/hana.hpp ;;
    libopenblas-dev) zero_has_header cblas.h && [[ $(g++ -print-file-name=libopenblas.so) == /* ]] ;;
    nlohmann-json3-dev) zero_has_header nlohmann/json.hpp ;;
    doctest-dev) zero_has_header doctest/doctest.h ;;
    openmpi-bin) command -v mpirun >/dev/null ;;
    libopenmpi-dev) command -v mpicxx >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# zero_has_header FILE: whether g++ finds it, by itself or in a folder of CMAKE_PREFIX_PATH, where CMake looks, too.
zero_has_header() {
  local prefix folders=() prefixes=()
  IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do folders+=(-isystem "$prefix/include"); done
  command -v g++ >/dev/null && g++ -E -x c++ "${folders[@]}" - <<<"#include <$1>" >/dev/null 2>&1
}
