#!/usr/bin/env bash
# Step 1 of the action: relayout on the PATH of the steps behind it, in an environment of its own.
set -euo pipefail
if command -v relayout >/dev/null; then relayout --version; exit 0; fi
place=$RUNNER_TEMP/relayout-venv
python3 -m venv "$place"
"$place/bin/pip" install --quiet --disable-pip-version-check "$RELAYOUT_PACKAGE"
echo "$place/bin" >>"$GITHUB_PATH"
"$place/bin/relayout" --version
