# shellcheck shell=sh disable=SC2016,SC2154
# Systems of Debian in folders, for what has to run in another than this machine's. Sourced after tests/setup.sh, by a POSIX shell.
#
# The sourcing script may set `so_far`, what it has done already, in words that go before each reason to skip.

skip() {
  say "skipped: ${so_far:-}$*"
  exit 77
}

# make_system SUITE FOLDER: a system of this release of Debian, from the mirror that apt is set up for, unless it is there. FOLDER's
# absolute name is in `system` then. Skips where this cannot be done.
make_system() {
  [ "$(id -u)" = 0 ] || skip "only root may make a chroot"
  command -v debootstrap >/dev/null || skip "debootstrap is not there; Debian's package debootstrap has it"
  unshare --mount true 2>/dev/null || skip "this machine lets nobody mount"
  mkdir -p "$2" || exit 1
  system=$(CDPATH='' cd -- "$2" && pwd -P) || exit 1
  if [ ! -x "$system/usr/bin/apt-get" ] || [ -d "$system/debootstrap" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
    [ -n "$mirror" ] || skip "apt knows no mirror of Debian; see /etc/apt/sources.list, and run apt-get update"
    say "making a system of Debian's $1 in $system"
    words=$(debootstrap --variant=minbase "$1" "$system" "$mirror" 2>&1 </dev/null) || {
      case $words in
        *'getting release file'* | *"Couldn't download"*) skip "the mirror that apt is set up for cannot be reached, or has no $1" ;;
      esac
      printf '%s\n' "$words" | tail -n 20
      die "debootstrap failed; its last words stand above"
    }
  fi
  cp /etc/resolv.conf "$system/etc/resolv.conf"
}

# in_system SCRATCH COMMAND...: runs it in `system`. What is mounted is seen by this command alone, and gone with it: the checkout on
# /portunus, which cannot be written, with the system's folder SCRATCH as its .build; where `keep` names a folder, this by its own name.
in_system() {
  scratch=$1
  shift
  mkdir -p "$system/portunus" "$system/$scratch" "$root/.build" "$system${keep:-/tmp}" || exit 1
  unshare --mount sh -euc '
    system=$1 root=$2 scratch=$3 keep=$4
    shift 4
    mount --bind "$system" "$system"
    mount -t proc proc "$system/proc"
    mount -t sysfs -o ro sysfs "$system/sys"
    mount --bind /dev "$system/dev"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
    mount -t tmpfs tmpfs "$system/dev/shm"
    mount --bind "$root" "$system/portunus"
    mount -o remount,bind,ro "$system/portunus"
    mount --bind "$system/$scratch" "$system/portunus/.build"
    [ -z "$keep" ] || mount --bind "$keep" "$system$keep"
    exec chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TMPDIR=/tmp \
      sh -euc "cd \"\$1\"; shift; exec \"\$@\"" - "${keep:-/portunus}" "$@"
  ' - "$system" "$root" "$scratch" "${keep:-}" "$@" </dev/null
}
