"""Judges what other tools fused and quantized, by relayout and by ONNX Runtime.

  RELAYOUT_PYTHON=PYTHON cmake/dev bench pairs [--only KIND…] [--models NAME…] [--ways REGEX] [--json FILE] [--jobs N]

KIND: ways (verdicts on files of other tools), faults (planted ones), proofs (what follows from the files, and its cost), losses (of coarser numbers,
on 64 samples).
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
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND")
    parser.add_argument("--models", nargs="+", metavar="NAME")
    parser.add_argument("--ways", default="", metavar="REGEX")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--polygraphy", type=int, default=0, metavar="N", help="time polygraphy on every Nth pair too")
    parser.add_argument("--faults", type=int, default=2, metavar="N", help="planted into each file")
    parser.add_argument("--resnet18", type=pathlib.Path, default=pathlib.Path.home() / ".cache/relayout/models/resnet18/model.onnx", metavar="FILE")
    return parser.parse_args(argv)


# --- work by models, side by side -------------------------------------------------------------------------------------------------


def over_models(work, options, remarks) -> list[dict]:
    """What `work(name, options)` gives for each model, in the order of the table; `remarks` of it at once, progress on standard error."""
    import models

    names = [one.name for one in models.ARCHITECTURES if not options.models or one.name in options.models]
    done, begun = {}, time.monotonic()
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
        futures = {pool.submit(work, name, options): name for name in names}
        for future in as_completed(futures):
            name = futures[future]
            try:
                done[name] = future.result()
            except Exception as error:  # of one model: the others go on
                done[name] = []
                print(f"failed: {name}: {error!r}", flush=True)
            print("".join(line + "\n" for line in remarks(done[name])), end="", flush=True)
            print(f"{time.monotonic() - begun:6.0f} s  {name}", file=sys.stderr, flush=True)
    return [row for name in names for row in done[name]]


def made(name, names, options):
    """A judge, the files of one model, and the chosen ones of `names`."""
    import models
    import ways
    import workshop
    from judge import Judge

    chosen = [one for one in names if re.search(options.ways, one)]
    return Judge(options.program), workshop.make(models.architecture(name), [ways.way(one) for one in chosen]), chosen


def chosen(options):
    import ways

    return [one for one in ways.WAYS if re.search(options.ways, one.name)]


def judge_model(name, options):
    import models
    import verdicts
    import workshop
    from judge import Judge

    ways = chosen(options)
    case = workshop.make(models.architecture(name), ways)
    rows = verdicts.judged(Judge(options.program), case, ways)
    if options.polygraphy:
        time_polygraphy(case, rows[:: options.polygraphy])
    return rows


def time_polygraphy(case, rows):
    import judge
    import ways

    for row in rows:
        if row["outcome"] == "right" and row["kind"] == "kept":
            of = ways.way(row["way"])
            row["polygraphy"] = judge.polygraphy(sys.executable, case.file(of.base), case.file(of.name), case.folder)


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
    import table

    rows = over_models(judge_model, options, trouble)
    judged = [row for row in rows if row["outcome"] != "not made"]
    print("\n".join(ways_table(rows)))
    print(f"{len(judged)} pairs; " + ", ".join(f"{sum(row['outcome'] == one for row in judged)} {one}" for one in OUTCOMES[:5]))
    timed = [row for row in judged if "polygraphy" in row]
    if timed:
        seconds = [table.median(row[key] for row in timed) for key in ("cpu", "polygraphy")]
        print(f"{len(timed)} pairs: median {seconds[0]:.2f} s of processor time, polygraphy {seconds[1]:.2f} s")
    return rows


# --- faults -----------------------------------------------------------------------------------------------------------------------


def harm_model(name, options):
    import planting
    import workshop

    judge, case, names = made(name, planting.HARMED, options)
    return planting.harmed(judge, case, names, options.faults, workshop.cache() / "harmed")


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
        if row["fault"] == "none" and row["caught"]:
            yield f"alarm: {row['model']}, {row['way']}: {row['named'] or row['why']}"
            yield f"    {row['command']}"
        elif row["fault"] != "none" and not (row["caught"] and row["first"]):
            how = "named is " + (row["named"] or "nothing") if row["caught"] else "missed"
            yield f"{how}: {row['model']}, {row['way']}, {row['fault']} at {row['right']}: {row['verdict']} (felt {row['felt']:.1e})  {row['why']}"
            yield f"    {row['command']}"


def faults(options):
    rows = over_models(harm_model, options, missed)
    harmed, unharmed = [row for row in rows if row["fault"] != "none"], [row for row in rows if row["fault"] == "none"]
    for key in ("way", "fault"):
        print("\n".join(faults_table(harmed, key)) + "\n")
    print(f"{len(unharmed)} unharmed lossy files, {sum(row['caught'] for row in unharmed)} with an alarm")
    return rows


# --- proofs -----------------------------------------------------------------------------------------------------------------------


def prove_model(name, options):
    import proofs

    return proofs.proved(*made(name, proofs.TOOLS, options))


def proofs(options):
    import proofs
    from judge import Judge

    rows = over_models(prove_model, options, lambda rows: ())
    print("\n".join(proofs.lines(rows)))
    if not options.resnet18.exists():
        print(f"no costs: {options.resnet18} is not there (--resnet18 FILE)")
        return {"shares": rows}
    import table

    costs = proofs.costs(Judge(options.program), options.resnet18)
    print("\n".join(table.lines(["resnet18", "s", "of our own file's"], [[cost["way"], cost["seconds"], cost["ratio"]] for cost in costs])))
    return {"shares": rows, "costs": costs}


# --- losses -----------------------------------------------------------------------------------------------------------------------


def lose_model(name, options):
    import losses

    return losses.lost(*made(name, losses.COARSE, options))


def apart(nodes, key):
    """How far relayout's figures lie from ONNX Runtime's: of all nodes, the median and the worst."""
    import losses
    import table

    distances = [abs(min(node[key], losses.LARGEST) - node["truth"]) for node in nodes if node.get(key) is not None and "truth" in node]
    return [len(distances), table.median(distances), max(distances, default=None)]


def losses(options):
    import losses
    import table

    options.models = options.models or losses.MODELS
    rows = over_models(lose_model, options, lambda rows: ())
    def unclipped(row):
        """What is expected is the loss of rounding alone."""
        return [node for node in row["nodes"] if not node["clipped"]]

    lines = [[row["model"], row["way"], row["snr"], row["measured"], len(row["nodes"]), *apart(row["nodes"], "snr"), *apart(unclipped(row), "expected_snr")]
             for row in rows]
    head = ["model", "way", "ORT dB", "measured", "nodes", "alone", "median dB off", "worst", "expected", "median dB off", "worst"]
    print("\n".join(table.lines(head, lines)))
    return rows


KINDS = {"ways": ways, "faults": faults, "proofs": proofs, "losses": losses}


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
