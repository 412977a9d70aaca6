#!/bin/sh
# A suite over the processors of a PBS job: qsub -- pbs.sh --suite models --junit report.xml
# The words are those of `python -m relayout.dask`; PYTHON names a Python with `relayout` and `distributed` on all nodes.
#PBS -l select=8:ncpus=1
set -u
cd "${PBS_O_WORKDIR:-.}" || exit
python=${PYTHON:-$(command -v python3)}
cluster=$PWD/cluster-$PBS_JOBID.json
scheduler='' workers=''
# Workers take their leave of the scheduler, so it ends after them.
trap '[ -z "$workers" ] || { kill $workers && wait $workers; }; kill $scheduler; rm -f "$cluster"' EXIT
"$python" -m distributed.cli.dask_scheduler --scheduler-file "$cluster" --port 0 --no-dashboard &
scheduler=$!
until [ -s "$cluster" ]; do kill -0 "$scheduler" || exit; sleep 1; done
# pbsdsh starts in another folder and without this environment.
pbsdsh -- /usr/bin/env "PYTHONPATH=${PYTHONPATH:-}" "PATH=$PATH" sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" \
  "$python" -m distributed.cli.dask_worker --scheduler-file "$cluster" --nthreads 1 --no-nanny --no-dashboard --death-timeout 60 &
workers=$!
"$python" -m relayout.dask --scheduler "$cluster" "$@"
