#!/bin/sh
# A suite over the tasks of a Slurm job: sbatch slurm.sh --suite models --junit report.xml
# The words are those of `python -m relayout.dask`; PYTHON names a Python with `relayout` and `distributed` on all nodes.
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=1
set -u
python=${PYTHON:-python3}
cluster=$PWD/cluster-$SLURM_JOB_ID.json
scheduler='' workers=''
# Workers take their leave of the scheduler, so it ends after them.
trap '[ -z "$workers" ] || { kill $workers && wait $workers; }; kill $scheduler; rm -f "$cluster"' EXIT
"$python" -m distributed.cli.dask_scheduler --scheduler-file "$cluster" --port 0 --no-dashboard &
scheduler=$!
until [ -s "$cluster" ]; do kill -0 "$scheduler" || exit; sleep 1; done
srun "$python" -m distributed.cli.dask_worker --scheduler-file "$cluster" --nthreads 1 --no-nanny --no-dashboard --death-timeout 60 &
workers=$!
"$python" -m relayout.dask --scheduler "$cluster" "$@"
