"""Judges what other tools fused and quantized, by relayout and by ONNX Runtime.

  RELAYOUT_PYTHON=PYTHON cmake/dev bench pairs [--only KIND…] [--models NAME…] [--ways REGEX] [--json FILE] [--jobs N]

KIND: ways (verdicts on files of other tools), faults (planted ones), proofs (what follows from the files, and its cost), losses (of coarser numbers).
PYTHON needs the packages below; what else is missing costs the ways that need it, and is told. Files stay below XDG_CACHE_HOME/relayout/peers."""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

NEEDED = ("numpy", "onnx", "onnxruntime", "torch")
OPTIONAL = ("torchvision", "timm", "transformers", "onnxsim", "onnxslim", "onnxoptimizer", "onnxscript", "onnxconverter_common", "polygraphy")


def missing(names) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def arguments(argv):
    parser = argparse.ArgumentParser(prog="bench pairs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="relayout")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=["ways", "faults"], metavar="KIND")
    parser.add_argument("--models", nargs="+", metavar="NAME")
    parser.add_argument("--ways", default="", metavar="REGEX")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--polygraphy", type=int, default=0, metavar="N", help="time polygraphy too, on every Nth pair")
    parser.add_argument("--faults", type=int, default=2, metavar="N", help="planted into each file")
    parser.add_argument("--resnet18", type=pathlib.Path, default=pathlib.Path.home() / ".cache/relayout/models/resnet18/model.onnx", metavar="FILE")
    return parser.parse_args(argv)


# --- work by models, side by side -------------------------------------------------------------------------------------------------


def over_models(work, options, *words) -> list[dict]:
    """What `work(name, options, …)` gives for each model, in the order of the table; progress on standard error."""
    import models

    names = [one.name for one in models.ARCHITECTURES if not options.models or one.name in options.models]
    done, begun = {}, time.monotonic()
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
        futures = {pool.submit(work, name, options, *words): name for name in names}
        for future in as_completed(futures):
            done[futures[future]] = future.result()
            print(f"{time.monotonic() - begun:6.0f} s  {futures[future]}", file=sys.stderr, flush=True)
    return [row for name in names for row in done[name]]


def chosen(options):
    import ways

    return [one for one in ways.WAYS if re.search(options.ways, one.name)]


def judge_model(name, options):
    import models
    import verdicts
    import workshop
    from judge import Judge

    ways = chosen(options)
    return verdicts.judged(Judge(options.program), workshop.make(models.architecture(name), ways), ways)


# --- the tables -------------------------------------------------------------------------------------------------------------------

OUTCOMES = ("right", "wrong", "inconclusive", "refused", "invalid", "not made")


def ways_table(rows):
    import table

    lines = []
    for way in dict.fromkeys(row["way"] for row in rows):
        of = [row for row in rows if row["way"] == way]
        cpu = [row["cpu"] for row in of if row["outcome"] != "not made"]
        counts = [sum(row["outcome"] == outcome for row in of) for outcome in OUTCOMES]
        lines.append([way, of[0]["kind"], *counts, table.median(cpu), max(cpu, default=None)])
    return table.lines(["way", "kind", *OUTCOMES, "median s", "worst s"], lines)


def trouble(rows):
    """Every verdict that is not right, with its command."""
    for row in rows:
        if row["outcome"] in ("wrong", "inconclusive", "refused"):
            by_runtime = "takes no such file" if row["error"] is None else f"error {row['error']:.1e}, {row['snr']:.1f} dB"
            yield f"{row['outcome']}: {row['model']}, {row['way']}: {row['verdict']} (ONNX Runtime: {by_runtime})  {row['why']}"
            yield f"    {row['command']}"


def ways(options):
    rows = over_models(judge_model, options)
    judged = [row for row in rows if row["outcome"] != "not made"]
    print("\n".join(ways_table(rows)))
    print("\n".join(trouble(rows)))
    print(f"{len(judged)} pairs; " + ", ".join(f"{sum(row['outcome'] == one for row in judged)} {one}" for one in OUTCOMES[:5]))
    return rows


# --- faults -----------------------------------------------------------------------------------------------------------------------


def harm_model(name, options):
    import models
    import planting
    import ways
    import workshop
    from judge import Judge

    names = [one for one in planting.HARMED if re.search(options.ways, one)]
    case = workshop.make(models.architecture(name), [ways.way(one) for one in names])
    return planting.harmed(Judge(options.program), case, names, options.faults, workshop.cache() / "harmed")


def faults_table(rows, key):
    """Faults by `key`: those of arithmetic that is compared, and those of losses."""
    import table

    def cells(of):
        named = [row for row in of if row["first"]]
        return [len(of), sum(row["caught"] for row in of), len(named)]

    lines = []
    for name in [*dict.fromkeys(row[key] for row in rows), "all"]:
        of = [row for row in rows if name in (row[key], "all")]
        unharmed = [row for row in of if row["kind"] != "lossy" or row["asked"] == row["way"]]
        losing = [row for row in of if row not in unharmed]
        lines.append([name, *cells(unharmed), *cells(losing)])
    return table.lines([key, "faults", "caught", "named first", "by losses", "caught", "named first"], lines)


def missed(rows):
    for row in rows:
        if not (row["caught"] and row["first"]):
            how = "named is " + (row["named"] or "nothing") if row["caught"] else "missed"
            yield f"{how}: {row['model']}, {row['way']}, {row['fault']} at {row['right']}: {row['verdict']} (felt {row['felt']:.1e})  {row['why']}"
            yield f"    {row['command']}"


def faults(options):
    rows = over_models(harm_model, options)
    harmed, unharmed = [row for row in rows if row["fault"] != "none"], [row for row in rows if row["fault"] == "none"]
    for key in ("way", "fault"):
        print("\n".join(faults_table(harmed, key)) + "\n")
    print("\n".join(missed(harmed)))
    print("\n".join(f"alarm: {row['model']}, {row['way']}: {row['named'] or row['why']}\n    {row['command']}" for row in unharmed if row["caught"]))
    print(f"{len(unharmed)} unharmed lossy files, {sum(row['caught'] for row in unharmed)} with an alarm")
    return rows


KINDS = {"ways": ways, "faults": faults}


def main(argv):
    if missing(NEEDED):
        print(f"bench pairs: skipped: this Python has no {', '.join(missing(NEEDED))} (RELAYOUT_PYTHON names one that has)")
        return 0
    options = arguments(argv)
    if missing(OPTIONAL):
        print(f"without {', '.join(missing(OPTIONAL))}: what needs them is not made")
    report = {kind: KINDS[kind](options) for kind in options.only}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
