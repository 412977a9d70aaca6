#!/usr/bin/env bash
# Step 2 of the action: one call for all models. Names in a model are not ours: while the result is printed the runner reads no commands,
# the annotations come afterwards.
set -euo pipefail
shopt -s globstar nullglob

# Files that a pattern names; blanks part nothing.
expand() { local IFS=; matches=($1); }

models=()
while IFS= read -r pattern; do
  [[ -n ${pattern// /} ]] || continue
  expand "$pattern"
  ((${#matches[@]})) || { echo "::error title=relayout verify::no file matches ${pattern//%/%25}"; exit 2; }
  models+=("${matches[@]}")
done <<<"$RELAYOUT_MODELS_TO_JUDGE"
((${#models[@]})) || { echo "::error title=relayout verify::no models are named"; exit 2; }
read -ra options <<<"$RELAYOUT_OPTIONS"

report=$(mktemp -d "$RUNNER_TEMP/relayout-XXXXXX")
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
code=0
echo "::stop-commands::$token"
relayout verify --original "$RELAYOUT_ORIGINAL" --github --markdown "$report/summary.md" --junit "$report/junit.xml" \
  "${options[@]}" -- "${models[@]}" 2>"$report/messages" || code=$?
echo "::$token::"
cat "$report/messages"
[[ ! -f $report/summary.md ]] || cat "$report/summary.md" >>"$GITHUB_STEP_SUMMARY"
{
  echo "exit-code=$code"
  echo "junit=$report/junit.xml"
  echo "summary=$report/summary.md"
} >>"$GITHUB_OUTPUT"
exit "$code"
