"""Judges what other tools fused and quantized, by relayout and by ONNX Runtime.

  RELAYOUT_PYTHON=PYTHON cmake/dev bench pairs [--only KIND…] [--models NAME…] [--ways REGEX] [--beside polygraphy] [--json FILE] [--jobs N]
  RELAYOUT_PYTHON=PYTHON cmake/dev bench pairs --sum FILE…

KIND: ways (verdicts on files of other tools), faults (planted ones), proofs (what follows from the files, and its cost), losses (of coarser numbers,
on 64 samples). --sum prints the tables of runs that wrote their rows with --json, one for each model perhaps.
PYTHON needs the packages below; what else is missing costs the ways that need it, and is told. Files stay below XDG_CACHE_HOME/relayout/peers."""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import sys
import time

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
    parser.add_argument("--sum", type=pathlib.Path, nargs="+", metavar="FILE", help="what runs wrote with --json, in one")
    parser.add_argument("--beside", choices=["polygraphy"], help="time this tool on one pair of each model too")
    parser.add_argument("--faults", type=int, default=2, metavar="N", help="planted into each file")
    parser.add_argument("--resnet18", type=pathlib.Path, default=pathlib.Path.home() / ".cache/relayout/models/resnet18/model.onnx", metavar="FILE")
    return parser.parse_args(argv)


# --- work by models, in parallel --------------------------------------------------------------------------------------------------


def over_models(work, options, remarks) -> list[dict]:
    """What `work(name, options)` gives for each model, in the order of the table; `remarks` of it at once, progress on standard error. A
    model without an answer has a row that says why."""
    import crew
    import models

    names = [one.name for one in models.ARCHITECTURES if not options.models or one.name in options.models]
    done, begun = {}, time.monotonic()
    for name, rows, why in crew.done(work, {name: (name, options) for name in names}, options.jobs):
        done[name] = [{"model": name, "failed": why}] if rows is None else rows
        said = [f"failed: {name}: {why}"] if rows is None else remarks(rows)
        print("".join(line + "\n" for line in said), end="", flush=True)
        print(f"{time.monotonic() - begun:6.0f} s  {name}", file=sys.stderr, flush=True)
    return [row for name in names for row in done[name]]


def answered(rows):
    """Without the models that have no answer, which are reported."""
    failed = [row for row in rows if "failed" in row]
    if failed:
        print("without an answer: " + ", ".join(f"{row['model']} ({row['failed']})" for row in failed))
    return [row for row in rows if "failed" not in row]


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
    if options.beside:
        time_polygraphy(case, rows)
    return rows


def time_polygraphy(case, rows):
    """On one pair, of another way in each model, that keeps the arithmetic."""
    import judge
    import ways

    right = [row for row in rows if row["outcome"] == "right" and row["kind"] == "kept"]
    if right:
        row = right[sum(map(ord, case.what.name)) % len(right)]
        of = ways.way(row["way"])
        row["polygraphy"] = judge.polygraphy(sys.executable, case.file(of.base), case.file(of.name), case.feeds[0], case.folder)


# --- the tables -------------------------------------------------------------------------------------------------------------------

OUTCOMES = ("right", "wrong", "inconclusive", "refused", "invalid", "not made")


def ways_table(rows, key):
    """By `key`: way or kind."""
    import table

    lines = []
    for name in dict.fromkeys(row[key] for row in rows):
        of = [row for row in rows if row[key] == name]
        made = [row for row in of if row["outcome"] != "not made"]
        cpu = [row["cpu"] for row in made]
        counts = [sum(row["outcome"] == outcome for row in of) for outcome in OUTCOMES]
        lines.append([name, of[0]["kind"], len(made), *counts, table.median(cpu), max(cpu, default=None)])
    return table.lines([key, "of kind", "pairs", *OUTCOMES, "median s", "worst s"], lines)


def beside_table(rows):
    """The same pairs by both, in seconds of processor time."""
    import table

    timed = [row for row in rows if row.get("polygraphy") is not None]
    lines = []
    for tool, key in (("relayout", "cpu"), ("polygraphy", "polygraphy")):
        seconds = [row[key] for row in timed]
        lines.append([tool, len(timed), table.median(seconds), max(seconds, default=None)])
    return table.lines(["the same pairs", "pairs", "median s", "worst s"], lines) if timed else []


def trouble(rows):
    """Every verdict that is not right, with its command."""
    for row in rows:
        if row["outcome"] in ("wrong", "inconclusive", "refused"):
            by_runtime = "takes no such file" if row["error"] is None else f"error {row['error']:.1e}, {row['snr']:.1f} dB"
            yield f"{row['outcome']}: {row['model']}, {row['way']}: {row['verdict']} (ONNX Runtime: {by_runtime})  {row['why']}"
            yield f"    {row['command']}"


def ways(options):
    return over_models(judge_model, options, trouble)


def show_ways(rows):
    rows = answered(rows)
    judged = [row for row in rows if row["outcome"] != "not made"]
    for key in ("way", "kind"):
        print("\n".join(ways_table(rows, key)) + "\n")
    print("".join(line + "\n" for line in beside_table(rows)), end="")
    models = len(dict.fromkeys(row["model"] for row in rows))
    print(f"{len(judged)} pairs of {models} models; " + ", ".join(f"{sum(row['outcome'] == one for row in judged)} {one}" for one in OUTCOMES[:5]))


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
    return over_models(harm_model, options, missed)


def show_faults(rows):
    rows = answered(rows)
    harmed, unharmed = [row for row in rows if row["fault"] != "none"], [row for row in rows if row["fault"] == "none"]
    for key in ("way", "fault", "kind"):
        print("\n".join(faults_table(harmed, key)) + "\n")
    print(f"{len(unharmed)} unharmed lossy files, {sum(row['caught'] for row in unharmed)} with an alarm")


# --- proofs -----------------------------------------------------------------------------------------------------------------------


def prove_model(name, options):
    import proofs

    return proofs.proved(*made(name, proofs.TOOLS, options))


def proofs(options):
    """Shares by model, and what a verification costs, as one row more."""
    import proofs
    from judge import Judge

    rows = over_models(prove_model, options, lambda rows: ())
    if not options.resnet18.exists():
        print(f"no costs: {options.resnet18} is not there (--resnet18 FILE)")
        return rows
    return [*rows, {"costs": proofs.costs(Judge(options.program), options.resnet18)}]


def show_proofs(rows):
    import proofs
    import table

    costs = next((row["costs"] for row in reversed(rows) if "costs" in row), None)
    print("\n".join(proofs.lines(answered([row for row in rows if "costs" not in row]))))
    if costs:
        print("\n".join(table.lines(["resnet18", "s", "of our own file's"], [[cost["way"], cost["seconds"], cost["ratio"]] for cost in costs])))


# --- losses -----------------------------------------------------------------------------------------------------------------------


def lose_model(name, options):
    import losses

    return losses.lost(*made(name, losses.COARSE, options))


def distances(nodes, key):
    """How far relayout's figures lie from ONNX Runtime's."""
    import losses

    truth = "expected_truth" if key == "expected_snr" else "truth"
    return [abs(min(node[key], losses.LARGEST) - node[truth]) for node in nodes if node.get(key) is not None and truth in node]


def apart(nodes, key):
    """Of all nodes, the median and the worst."""
    import table

    found = distances(nodes, key)
    return [len(found), table.median(found), max(found, default=None)]


def losses(options):
    import losses

    options.models = options.models or losses.MODELS
    return over_models(lose_model, options, lambda rows: ())


def unclipped(row):
    """What is expected is the loss of rounding alone."""
    return [node for node in row["nodes"] if not node["clipped"]]


def show_losses(rows):
    import losses
    import table

    rows = answered(rows)
    lines = [[row["model"], row["way"], row["snr"], row["measured"], len(row["nodes"]), *apart(row["nodes"], "snr"), *apart(unclipped(row), "expected_snr")]
             for row in rows]
    head = ["model", "way", "ORT dB", "measured", "nodes", "alone", "median dB off", "worst", "expected", "median dB off", "worst"]
    print("\n".join(table.lines(head, lines)))
    of_files = [abs(min(row["measured"], losses.LARGEST) - min(row["snr"], losses.LARGEST)) for row in rows if row["measured"] is not None]
    alone = [one for row in rows for one in distances(row["nodes"], "snr")]
    expected = [one for row in rows for one in distances(unclipped(row), "expected_snr")]
    print(f"{len(of_files)} files, at most {max(of_files, default=0):.2g} dB off; within 1 dB: {sum(one <= 1 for one in alone)} of {len(alone)} nodes alone, "
          f"{sum(one <= 1 for one in expected)} of {len(expected)} expected")


KINDS = {"ways": (ways, show_ways), "faults": (faults, show_faults), "proofs": (proofs, show_proofs), "losses": (losses, show_losses)}


def summed(files) -> dict:
    """The rows of several runs, by kind."""
    out = {}
    for file in files:
        for kind, rows in json.loads(file.read_text()).items():
            out.setdefault(kind, []).extend(rows)
    return out


def show(report):
    for number, (kind, rows) in enumerate(report.items()):
        print("" if number == 0 else "\n", end="")
        KINDS[kind][1](rows)


def main(argv):
    if missing(NEEDED) and "--sum" not in argv:  # sums need none
        print(f"bench pairs: skipped: this Python has no {', '.join(missing(NEEDED))} (RELAYOUT_PYTHON names one that has)")
        return 0
    options = arguments(argv)
    if options.sum:
        show(summed(options.sum))
        return 0
    if missing(OPTIONAL):
        print(f"without {', '.join(missing(OPTIONAL))}: what needs them is not made")
    report = {kind: KINDS[kind][0](options) for kind in options.only}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
