#!/bin/sh
# Starts relayout @VERSION@ with the loader, the C library and the libraries that it was installed with: where its folder lies and what
# the system has does not matter. Nothing is put into the environment of what it starts.
self=$0
if [ -L "$self" ]; then self=$(readlink -f "$self"); fi
case $self in /*) ;; *) self=$PWD/$self ;; esac
here=${self%/*}
# Beside this file as it was unpacked; or where pip puts packages beside the scripts, for one Python or into one folder.
for tree in "$here/../lib/relayout" "$here"/../lib*/python3*/*-packages/relayout/program-@VERSION@/lib/relayout \
  "$here/../relayout/program-@VERSION@/lib/relayout"; do
  if [ -f "$tree/@LOADER@" ]; then exec "$tree/@LOADER@" --argv0 "$self" --inhibit-cache "$tree/relayout" "$@"; fi
done
echo "relayout: the folder of relayout @VERSION@ is not where it was installed, seen from $here; install it again" >&2
exit 5
