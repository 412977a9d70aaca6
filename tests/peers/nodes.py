"""Nodes that `relayout convert --simplify` leaves, beside those of other tools, and whether each result is right in ONNX Runtime.

  RELAYOUT_PYTHON=PYTHON cmake/dev bench nodes [--models GLOB…] [--exports GLOB…] [--json FILE] [--earlier FILE]

Models are those of RELAYOUT_MODELS, its folder `real`, and exports that `bench pairs` left: ARCHITECTURE/original (TorchScript) and ARCHITECTURE/dynamo.
Counted are the nodes of all graphs and functions, Constants too. A tool is a measure where its file is right in ONNX Runtime without optimizations (error up to
1e-4 of the range) and at most 1 % larger than the model. Seconds are of processor time with the tool's own start, MiB the peak. torch optimizes the graphs that
it exports by onnxscript. PYTHON has onnx, onnxruntime, onnxsim, onnxslim, onnxoptimizer and onnxscript. --earlier is the --json of another run: only relayout runs."""
import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import judge
import models
import onnx
import table
import trained
import truth

LARGER = 1.01, 2000  # of the model's bytes, and what names and metadata take
EXPORTS = ("resnet10/*", "mobilenet_v3/*", "convnext/*", "vit_timm/*", "bert/*", "gpt2/*", "swin/*", "unet/*", "detector/*", "recurrent/*")


# --- tools: each saves what it makes of a file --------------------------------------------------------------------------------------


def by_onnxsim(source: str, result: str):
    import onnxsim

    onnx.save(onnxsim.simplify(onnx.load(source))[0], result)


def by_onnxslim(source: str, result: str):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source)), result)


def by_onnxoptimizer(source: str, result: str):
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(source)), result)


def by_onnxscript(source: str, result: str):
    import onnxscript.optimizer

    onnx.save(onnxscript.optimizer.optimize(onnx.load(source)), result)


def by_onnxruntime(source: str, result: str):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC, 4
    options.optimized_model_filepath = result
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


TOOLS = {"onnxsim": by_onnxsim, "onnxslim": by_onnxslim, "onnxoptimizer": by_onnxoptimizer, "onnxscript": by_onnxscript, "ORT basic": by_onnxruntime}


# --- what a tool's file is ----------------------------------------------------------------------------------------------------------


def count(file: pathlib.Path) -> int:
    def of(nodes) -> int:
        return sum(1 + sum(of(graph.node) for attribute in node.attribute for graph in ([attribute.g] if attribute.HasField("g") else attribute.graphs)) for node in nodes)

    model = onnx.load(file, load_external_data=False)
    return of(model.graph.node) + sum(of(function.node) for function in model.functions)


def size(file: pathlib.Path) -> int:
    return sum(one.stat().st_size for one in file.parent.glob(file.name + "*"))


# A process's peak begins with that of its parent, which has to be small.
LAUNCHER = """import json, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))"""


def measured(words: list) -> tuple[int, float, float, str]:
    """Exit code, seconds of processor time, MiB and what was printed."""
    with tempfile.NamedTemporaryFile() as told:
        done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, told.name, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return *json.load(told), done.stdout.decode(errors="replace").strip()


def made(words: list, result: pathlib.Path, right, feed) -> dict:
    code, seconds, peak, said = measured(words)
    row = {"s": round(seconds, 3), "MiB": round(peak, 1)}
    if code != 0 or not result.exists():
        return row | {"why": (said.splitlines() or [""])[-1][:160]}
    row |= {"nodes": count(result), "bytes": size(result)}
    if right is not None:
        try:
            row["error"] = trained.error(right, trained.answers(result, feed, False), False)
        except Exception as problem:
            row["why"] = str(problem).strip().splitlines()[0][:160]
    return row


def is_right(row: dict) -> bool:
    return "nodes" in row and "why" not in row and row.get("error", 0) <= trained.EXACT


# --- models -------------------------------------------------------------------------------------------------------------------------


def exports(globs) -> dict[str, tuple]:
    """Files and inputs by name."""
    out = {}
    for what in models.ARCHITECTURES:
        for way in ("original", "dynamo"):
            file = trained.CACHE / "peers" / what.name / f"{way}.onnx"
            if file.exists() and any(fnmatch.fnmatch(f"{what.name}/{way}", glob) for glob in globs):
                out[f"{what.name}/{way}"] = file, list(truth.samples(what.inputs, 1)[0].values())
    return out


def judged(program, name: str, file: pathlib.Path, feed: list, earlier: dict, folder: pathlib.Path) -> dict:
    row = dict(earlier) | {"model": name, "nodes": count(file), "bytes": size(file)}
    try:
        right = trained.answers(file, feed, False)
    except Exception as problem:
        right, row["no answers"] = None, str(problem).strip().splitlines()[0][:160]
    for tool in TOOLS if not earlier else ():
        result = folder / "peer.onnx"
        row[tool] = made([sys.executable, "-B", __file__, "--apply", tool, file, result], result, right, feed)
        clear(folder)
    result = folder / "ours.onnx"
    row["relayout"] = made([program, "convert", file, "-o", result, "--simplify", "--layout", "keep", "-q"], result, right, feed)
    if "nodes" in row["relayout"]:
        verdict = judge.Judge(program).verify(file, result, "--strict")
        structure = verdict.report.get("structure") or {}
        row["relayout"] |= {"verify": verdict.code, "proved": bool(structure.get("proved") or verdict.report.get("identical")), "said": verdict.reason[:200]}
    clear(folder)
    measures = {tool: row[tool]["nodes"] for tool in TOOLS if is_right(row[tool]) and row[tool]["bytes"] <= LARGER[0] * row["bytes"] + LARGER[1]}
    row["best"] = min(measures, key=measures.get) if measures else ""
    return row


def clear(folder: pathlib.Path):
    for file in folder.iterdir():
        file.unlink()


def cell(row: dict) -> str:
    return f"{row['nodes']}{'' if is_right(row) else ' wrong'}" if "nodes" in row else "-"


def is_met(row: dict) -> bool:
    ours = row["relayout"]
    return is_right(ours) and ours.get("verify") == 0 and (not row["best"] or ours["nodes"] <= row[row["best"]]["nodes"])


def show(rows: list):
    tools = list(TOOLS)
    head = ["model", "nodes", "relayout", *tools, "verify", "relayout s", *(f"{tool} s" for tool in tools), "relayout MiB", *(f"{tool} MiB" for tool in tools), "best met"]
    lines = []
    for row in rows:
        ours = row["relayout"]
        word = {0: "proved" if ours.get("proved") else "same", 1: "different", 3: "inconclusive"}.get(ours.get("verify"), f"exit {ours.get('verify')}")
        lines.append([row["model"], row["nodes"], cell(ours), *(cell(row[tool]) for tool in tools), word,
                      *(round(row[tool]["s"], 2) for tool in ("relayout", *tools)), *(round(row[tool]["MiB"]) for tool in ("relayout", *tools)), "yes" if is_met(row) else "no"])
    print("\n".join(table.lines(head, lines)))
    for row in rows:
        if not is_met(row):
            print(f"{row['model']}: {row['relayout'].get('why') or row['relayout'].get('said', '')} (best: {row['best'] or 'none'})")
    print(f"{len(rows)} models: {sum(map(is_met, rows))} with no more nodes than the best right tool, right and verified; {sum(row['relayout'].get('proved', False) for row in rows)} proved; "
          f"wrong or not made: " + ", ".join(f"{tool} {sum(not is_right(row[tool]) for row in rows)}" for tool in ("relayout", *tools)))


def main(argv):
    if argv[:1] == ["--apply"]:
        TOOLS[argv[1]](argv[2], argv[3])
        return 0
    parser = argparse.ArgumentParser(prog="bench nodes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="relayout")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(os.environ.get("RELAYOUT_MODELS") or trained.CACHE / "models"))
    parser.add_argument("--models", nargs="*", default=["*"], metavar="GLOB")
    parser.add_argument("--exports", nargs="*", default=EXPORTS, metavar="GLOB")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--earlier", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(argv)
    earlier = {row["model"]: row for row in json.loads(options.earlier.read_text())} if options.earlier else {}
    inputs = {name: (file, trained.stored(file)) for name, file in trained.found(options).items()} | exports(options.exports)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name, (file, feed) in inputs.items():
            rows.append(judged(options.program, name, file, feed, earlier.get(name, {}), pathlib.Path(place)))
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    show(rows)
    return 0 if all(map(is_met, rows)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
