"""Random models against the program: conversions, rewritten models that compute the same, models with one planted fault.
    RELAYOUT_PYTHON=PYTHON cmake/dev check machines [HOURS]
PYTHON has numpy, onnx and onnxruntime. Every seed is a model with its conversions, rewrites and faults, always the same. Results are lines of
JSON in --out; a later run goes on behind the last seed, and --first begins anew. --seed runs one seed, prints its record and keeps its files;
--sum prints the tables of results."""

import argparse
import json
import os
import pathlib
import sys
import time

import sums

NEEDED = ("numpy", "onnx", "onnxruntime")
BATCH = 10  # seeds of one process
TOP = pathlib.Path(__file__).resolve().parents[2]


def missing(names=None) -> list[str]:
    import importlib.util

    return [name for name in names or NEEDED if importlib.util.find_spec(name) is None]


def first_seed(arguments) -> int:
    if arguments.first is not None:
        arguments.out.unlink(missing_ok=True)
        return arguments.first
    return 1 + max((json.loads(line)["seed"] for line in arguments.out.open()), default=-1) if arguments.out.exists() else 0


def tell(record: dict) -> int:
    """Prints what a seed found; how much it was."""
    for one in record.get("found", []):
        print(f"seed {record['seed']}: {one['oracle']}: {one['what']}\n  {one['command']}", flush=True)
    return len(record.get("found", []))


def run(arguments) -> int:
    import crew
    from trial import several

    first, end, found = first_seed(arguments), time.monotonic() + 3600 * arguments.hours, 0
    last = sys.maxsize if arguments.count is None else first + arguments.count
    while time.monotonic() < end and first < last:
        tasks = {}
        while len(tasks) < 4 * arguments.jobs and first < last:
            seeds = range(first, min(first + BATCH, last))
            tasks[seeds] = (arguments.program, seeds, arguments.keep)
            first = seeds.stop
        for seeds, records, error in crew.done(several, tasks, arguments.jobs):
            with arguments.out.open("a") as out:
                for record in records or [{"seed": seeds[-1], "dismissed": error}]:
                    out.write(json.dumps(record) + "\n")
                    found += tell(record)
    print(sums.lines([arguments.out])[0] + f"; found: {found}")
    return 1 if found else 0


def main(words) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=TOP / "build/release/relayout")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path, default=TOP / "build/machines/results.jsonl")
    parser.add_argument("--keep", type=pathlib.Path, default=TOP / "build/machines/found")
    parser.add_argument("--sum", type=pathlib.Path, nargs="+", metavar="FILE")
    arguments = parser.parse_args(words)
    if arguments.sum:
        print("\n".join(sums.lines(arguments.sum)))
        return 0
    if lacking := missing():
        print(f"skipped: this Python has no {', '.join(lacking)} (RELAYOUT_PYTHON names another)")
        return 0
    sys.path.append(str(TOP / "tests/peers"))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if arguments.seed is not None:
        from trial import tried

        record = tried(arguments.program, arguments.seed, arguments.keep, always=True)
        print(json.dumps(record, indent=1))
        return 1 if record.get("found") else 0
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
