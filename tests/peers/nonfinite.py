"""Makers of NaN and infinity planted into stored models: does `relayout run --require-finite` name them? And with `--as fp16` the node that is the first
in ONNX Runtime, running the f16 file on the same inputs?

  cmake/dev bench nonfinite [--models DIR] [--of N] [--json FILE]"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import grades
import numpy
import onnx
import onnxruntime
import table
from onnx import helper, numpy_helper

# Each makes of a finite x, by two nodes of which the second is at fault, numbers that are not finite.
KINDS = {
    "product overflows": (("Clip", 2.0, 3.0), ("Mul", 3e38)),
    "Exp overflows": (("Clip", 100.0, 200.0), ("Exp",)),
    "Log of negative": (("Clip", -2.0, -1.0), ("Log",)),
    "square root of negative": (("Clip", -2.0, -1.0), ("Sqrt",)),
    "division by 0": (("Clip", 1.0, 2.0), ("Div", 0.0)),
    "logarithm of 0": (("Clip", 0.0, 0.0), ("Log",)),
    "power overflows": (("Clip", 10.0, 20.0), ("Pow", 60.0)),
}
LARGEST = 20_000_000


def edges(model):
    """Values of float32 that a node of the main graph makes, another one reads, and an output depends on."""
    types = {one.name: one.type.tensor_type.elem_type for one in onnx.shape_inference.infer_shapes(model).graph.value_info}
    needed = {one.name for one in model.graph.output}
    for node in reversed(model.graph.node):
        if not needed.isdisjoint(node.output):
            needed.update(node.input)
    return [name for node in model.graph.node if node.op_type not in ("Constant", "Shape") for name in node.output
            if name in needed and types.get(name) == onnx.TensorProto.FLOAT]


def plant(model, value, makers):
    """All readers of the value read what the second new node makes of it."""
    nodes, last = [], value
    for number, (op, *numbers) in enumerate(makers):
        names = [f"planted/{number}/{i}" for i in range(len(numbers))]
        model.graph.initializer.extend(numpy_helper.from_array(numpy.float32(x), name) for x, name in zip(numbers, names))
        nodes.append(helper.make_node(op, [last, *names], [f"planted/{number}"], name=f"planted {op} {number}"))
        last = f"planted/{number}"
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == value:
                node.input[i] = last
    at = next(i for i, node in enumerate(model.graph.node) if value in node.output)
    rest = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*rest[: at + 1], *nodes, *rest[at + 1:]])
    return nodes[-1].name


def report(program, file):
    done = subprocess.run([program, "run", str(file), "--require-finite", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in (0, 1) else None


# Of finite x, numbers beyond f16 and far from the end of f32.
BEYOND_HALF = {"product beyond f16": (("Clip", 2.0, 3.0), ("Mul", 4e4)), "Exp beyond f16": (("Clip", 12.0, 13.0), ("Exp",)), "none": ()}


def made_by_runtime(file, feeds):
    """The first node of an f16 file whose results are not finite, in ONNX Runtime; empty: none."""
    model = onnx.load(file)
    outputs = {one.name for one in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output if name and name not in outputs)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, feeds)))
    for node in model.graph.node:
        for name in node.output:
            value = found.get(name)
            if isinstance(value, numpy.ndarray) and value.dtype.kind == "f" and not numpy.isfinite(value.astype(float)).all():
                return node.name or name
    return ""


def as_half(program, file, kind, dice, folder):
    """What relayout names with --as fp16, and what ONNX Runtime makes of the f16 file; nothing where a tool does not convert or run the file."""
    model = onnx.load(str(file))
    found = edges(model)
    if len(found) <= 5 or max(one.version for one in model.opset_import if not one.domain) < 11:
        return None
    if BEYOND_HALF[kind]:
        plant(model, dice.choice(found), BEYOND_HALF[kind])
    whole, half = f"{folder}/planted.onnx", f"{folder}/half.onnx"
    onnx.save(model, whole)
    try:
        grades.half(whole, half)
        feeds = grades.Random(half, 1).get_next()
        right = made_by_runtime(half, feeds)
    except Exception:  # any of the tools
        return None
    inputs = []
    for number, (name, value) in enumerate(feeds.items()):
        numpy.save(f"{folder}/{number}.npy", value.astype(numpy.float32) if value.dtype == numpy.float16 else value)
        inputs += ["--input", f"{name}={folder}/{number}.npy"]
    done = subprocess.run([program, "run", whole, "--as", "fp16", "--require-finite", "--json", *inputs], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None
    named = json.loads(done.stdout).get("first_fault", {}).get("node", "")
    return {"model": file.parent.name, "kind": kind, "named": named, "right": right}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/relayout/models")
    parser.add_argument("--of", type=int, default=12)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(argv)
    dice, rows, used = random.Random(1), [], set()
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(options.models.rglob("model.onnx"), key=lambda file: file.stat().st_size):
            if len(used) == options.of or file.stat().st_size > LARGEST or (file.parent / "model.onnx.data").exists():
                continue
            model = onnx.load(str(file))
            found = edges(model)
            before = report(options.program, file) if len(found) > 5 and max(one.version for one in model.opset_import if not one.domain) >= 11 else None
            if before is None or not before["finite"]:
                continue
            used.add(file.parent.name)
            for kind in dice.sample(list(KINDS), 5):
                model = onnx.load(str(file))
                right = plant(model, dice.choice(found), KINDS[kind])
                onnx.save(model, f"{folder}/planted.onnx")
                after = report(options.program, f"{folder}/planted.onnx") or {}
                named = after.get("first_fault", {}).get("node")
                rows.append({"model": file.parent.name, "kind": kind, "named": named, "right": named == right})
                if named != right:
                    print(f"named is {named}: {file.parent.name}, {kind}", flush=True)
    by = collections.OrderedDict()
    for row in rows:
        by.setdefault(row["kind"], []).append(row)
    lines = [[kind, len(of), sum(row["right"] for row in of)] for kind, of in by.items()]
    print("\n".join(table.lines(["planted", "models", "named"], [*lines, ["all", len(rows), sum(row["right"] for row in rows)]])))
    print(f"{len(used)} models: {', '.join(sorted(used))}")
    halves = []
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(options.models.rglob("model.onnx"), key=lambda file: file.stat().st_size):
            if file.stat().st_size <= LARGEST and not (file.parent / "model.onnx.data").exists():
                halves += [row for kind in BEYOND_HALF if (row := as_half(options.program, file, kind, dice, folder))]
    for row in halves:
        if row["named"] != row["right"]:
            print(f"as fp16: named is {row['named'] or 'none'}, ONNX Runtime has {row['right'] or 'none'} first: {row['model']}, {row['kind']}")
    lines = [[kind, len(of), sum(row["named"] == row["right"] for row in of)] for kind in BEYOND_HALF if (of := [row for row in halves if row["kind"] == kind])]
    print("\n".join(table.lines(["as fp16", "models", "as ONNX Runtime"], lines)))
    rows += halves
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
