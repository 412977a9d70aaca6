#!/bin/sh
# Installs relayout from this folder: install.sh [PREFIX]. The default is /usr/local for root and ~/.local for everyone else.
# install.sh --uninstall [PREFIX] takes it away again.
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)

fail() { echo "install.sh: $*" >&2; exit 1; }

uninstall=
if [ "${1:-}" = --uninstall ]; then uninstall=yes; shift; fi
case ${1:-} in -*) echo "usage: install.sh [--uninstall] [PREFIX]" >&2; exit 2 ;; esac
if [ "$(id -u)" = 0 ]; then prefix=${1:-/usr/local}; else prefix=${1:-$HOME/.local}; fi

# What an earlier installation put there; nothing else of the prefix is touched.
remove() {
  [ ! -e "$prefix/lib/relayout" ] || [ -f "$prefix/lib/relayout/@LOADER@" ] || fail "$prefix/lib/relayout is something else: not replaced"
  rm -rf "$prefix/lib/relayout" "$prefix/share/doc/relayout"
  (cd "$here" && find bin share -type f ! -path 'share/doc/*') | while IFS= read -r file; do rm -f "$prefix/$file"; done
}

if [ -n "$uninstall" ]; then
  remove
  echo "removed from $prefix"
  exit 0
fi
[ -f "$here/lib/relayout/relayout" ] || fail "the rest of the archive is not beside this file"
mkdir -p "$prefix" 2>/dev/null || fail "no permission to write $prefix"
[ -w "$prefix" ] || fail "no permission to write $prefix"
prefix=$(cd "$prefix" && pwd -P)
[ "$prefix" != "$here" ] || fail "$prefix is this folder: bin/relayout runs as it is"
remove
cp -R "$here/bin" "$here/lib" "$here/share" "$prefix/" || fail "could not copy to $prefix"
"$prefix/bin/relayout" --version || fail "installed in $prefix, but it does not start"
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "installed: $prefix/bin/relayout (add $prefix/bin to PATH)" ;; esac
