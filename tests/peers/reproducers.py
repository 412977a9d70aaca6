"""Faults planted into stored models: does each reproducer that `relayout verify --save-repro` writes fail in ONNX Runtime, too?

  PYTHON tests/peers/reproducers.py --program RELAYOUT [--count N] [--models DIR] [--json FILE]"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import faults
import numpy
import onnx
import onnxruntime
import operator_faults
import table
from onnx import numpy_helper
from wiring import Net

FAULTS = faults.FAULTS + operator_faults.FAULTS
LARGEST = 20_000_000


def answer(file, feeds):
    """The first output, or why there is none."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, 4
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        return session.run(None, {one.name: feeds[number] for number, one in enumerate(session.get_inputs())})[0]
    except Exception as error:
        return str(error).splitlines()[0][:120]


def fails(folder) -> str:
    """How the parts differ in ONNX Runtime; empty where they do not."""
    files = sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    feeds = [numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes())) for file in files]
    a, b = answer(folder / "a.onnx", feeds), answer(folder / "b.onnx", feeds)
    if isinstance(a, str):
        return ""
    if isinstance(b, str) or a.shape != b.shape or a.dtype != b.dtype:
        return "other form"
    if a.dtype.kind != "f":
        return "other elements" if not numpy.array_equal(a, b) else ""
    x, y = a.astype(float), b.astype(float)
    return "other numbers" if not numpy.allclose(x, y, rtol=1e-5, atol=1e-6 * max(float(numpy.abs(x).max(initial=0)), 1e-30), equal_nan=True) else ""


def judged(program, file, fault, seed, folder):
    net = Net(str(file))
    try:
        if not fault.plant(net, random.Random(seed)):
            return None
    except IndexError:
        return None
    wrong, repro = folder / "b.onnx", folder / "repro"
    onnx.save(net.model, str(wrong))
    words = [program, "verify", str(file), str(wrong), "--samples=1", "--save-repro", str(repro), "--json"]
    begin = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 1 or json.loads(done.stdout)["verdict"] != "different":
        return None
    made = json.loads(done.stdout).get("reproducers", [])
    row = {"model": file.parent.name, "fault": fault.name, "seconds": time.monotonic() - begin, "made": len(made), "differs": False, "fails": "", "why": ""}
    first = made[0] if made else {}
    row["why"] = first.get("reason", "" if made else "no node named")
    if "folder" in first:
        part = pathlib.Path(first["folder"])
        size = sum(one.stat().st_size for one in part.rglob("*") if one.is_file())
        row |= {"differs": first["differs"], "fails": fails(part), "nodes": first["nodes_b"], "bytes": size}
    return row


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/relayout/models")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(argv)
    files = [file for file in sorted(options.models.rglob("model.onnx")) if file.stat().st_size < LARGEST and not (file.parent / "model.onnx.data").exists()]
    places = [(fault, file) for fault in FAULTS for file in files]
    random.Random(1).shuffle(places)
    rows = []
    for fault, file in places:
        if len(rows) == options.count:
            break
        with tempfile.TemporaryDirectory() as folder:
            row = judged(options.program, file, fault, f"{file} {fault.name}", pathlib.Path(folder))
        if row:
            rows.append(row)
            if not row["fails"]:
                print(f"no failing reproducer: {row['model']}, {row['fault']}: {row['why'] or 'the same in ONNX Runtime'}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    written = [row for row in rows if "bytes" in row]
    line = [len(rows), len(written), sum(row["differs"] for row in written), sum(bool(row["fails"]) for row in written)]
    for key in ("nodes", "bytes", "seconds"):
        line += [table.median([row[key] for row in written]), max((row[key] for row in written), default=None)]
    heads = ["faults", "reproducers", "fail here", "in ONNX Runtime", "median nodes", "most", "median bytes", "most", "median s", "most"]
    print("\n".join(table.lines(heads, [line])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
