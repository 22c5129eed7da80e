# shellcheck shell=sh disable=SC2034,SC2154
# What the two commands of README.md share: install what is missing, configure, build. Sourced, by a POSIX shell.
#
# The sourcing script sets `root` (the checkout) and `me` (its own name, for messages). All builds lie in $root/.build,
# one folder for each kind. Everything here may be repeated: what is done already is neither done nor mentioned again.

# What it takes to build; then what only the tests need.
build_packages="g++ meson ninja-build pkg-config python3 libfabric-dev libhwloc-dev libpmix-dev libcli11-dev
  nlohmann-json3-dev libgtest-dev libbenchmark-dev gfortran"
test_packages="clang clang-format lld libclang-rt-dev openmpi-bin mpich iproute2 slurm-wlm munge cmake valgrind
  environment-modules help2man groff-base"

# ccache takes precompiled headers where it is told not to look for times and macros in them.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 1
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# install_packages NAME...: asks the network only when something is missing.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    command -v meson >/dev/null ||
      die "this is no Debian system, so nothing can be installed here; install what these Debian packages hold: $*"
    return
  fi
  missing=
  for package in "$@"; do is_installed "$package" || missing="$missing $package"; done
  [ -n "$missing" ] || return 0
  as_root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "these packages are missing:$missing; run this as root, or install sudo, or let somebody install them"
    as_root=sudo
  fi
  say "installing:$missing"
  quietly "apt-get could not read the package lists; check the network and /etc/apt/sources.list" \
    $as_root apt-get -qq update
  # shellcheck disable=SC2086
  quietly "apt-get could not install$missing; see its words above" \
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing
}

# quietly SENTENCE COMMAND...: shows what the command said only when it fails.
quietly() {
  sentence=$1
  shift
  words=$("$@" </dev/null 2>&1) && return 0
  printf '%s\n' "$words" >&2
  die "$sentence"
}

# configure KIND MESON-OPTION...: makes .build/KIND unless it is there, made by the same command from the same place.
# The compiler is $CC and $CXX, where set.
configure() {
  kind=$1
  shift
  stamp=$root/.build/$kind.configured
  # Other defaults of meson.build count in a fresh folder only.
  wanted="$root ${CC:-} ${CXX:-} $* $(sed -n '/default_options/,/)/p' "$root/meson.build" | cksum)"
  if [ -f "$root/.build/$kind/build.ninja" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
  rm -rf "$root/.build/$kind" "$stamp"
  mkdir -p "$root/.build"
  words=$(meson setup "$@" "$root/.build/$kind" "$root" 2>&1) || {
    printf '%s\n' "$words"
    return 1
  }
  printf '%s\n' "$wanted" >"$stamp"
}

# build KIND [TARGET...]: compiles what has changed; shows only what goes wrong.
build() {
  kind=$1
  shift
  words=$(ninja -C "$root/.build/$kind" "$@" 2>&1) || {
    printf '%s\n' "$words" | grep -v '^\[[0-9]*/[0-9]*\] '
    return 1
  }
}
