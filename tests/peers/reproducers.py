"""Faults planted into stored models: does each reproducer that `relayout verify --save-repro` writes fail in ONNX Runtime, as the whole does?

  cmake/dev bench reproducers [--count N] [--models DIR] [--jobs N] [--json FILE] [--earlier FILE] [--keep DIR]

Each model is harmed as it is, in fp16 and in int8, as ONNX Runtime's tools convert it. A fault counts where verify says `different` and ONNX Runtime
shows the difference on the whole model, with the same inputs."""
import argparse
import collections
import json
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import crew
import faults
import grades
import numpy
import onnx
import onnxruntime
import operator_faults
import table
from onnx import numpy_helper
from wiring import Net

FAULTS = faults.FAULTS + operator_faults.FAULTS
LARGEST = 20_000_000
LONGEST = 300  # seconds of processor time for one call of verify
# Share of a range by which numbers of the whole differ, and those of a part, whose operands are the same.
FELT, FELT_ALONE = {"f32": 1e-4, "fp16": 1e-2, "int8": 1e-2}, {"float16": 2e-3, "float32": 1e-5, "float64": 1e-5}


def answers(file, feeds):
    """The outputs, or why there are none."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        return session.run(None, {one.name: feeds[number] for number, one in enumerate(session.get_inputs())})
    except Exception as error:
        return str(error).splitlines()[0][:120]


def moved(a, b, felt) -> str:
    """How two values differ; empty where they do not."""
    if isinstance(a, list):
        return "other form" if not isinstance(b, list) or len(a) != len(b) else next((how for x, y in zip(a, b) if (how := moved(x, y, felt))), "")
    if not isinstance(a, numpy.ndarray):
        return "other elements" if a != b else ""
    if not isinstance(b, numpy.ndarray) or a.shape != b.shape or a.dtype != b.dtype:
        return "other form"
    if a.dtype.kind != "f":
        return "other elements" if not numpy.array_equal(a, b) else ""
    limit = felt or FELT_ALONE.get(str(a.dtype), 1e-5)
    x, y = a.astype(float), b.astype(float)
    finite = numpy.isfinite(x) & numpy.isfinite(y)
    if not numpy.array_equal(x[~finite], y[~finite], equal_nan=True):
        return "other numbers"
    reach = float(x[finite].max(initial=-numpy.inf) - x[finite].min(initial=numpy.inf)) if finite.any() else 0.0
    return "other numbers" if finite.any() and float(numpy.abs(x - y)[finite].max()) > limit * (reach or float(numpy.abs(x[finite]).max()) or 1e-30) else ""


def differ(a, b, folder, felt=None) -> tuple[str, str]:
    """How two files differ in ONNX Runtime on the inputs of a folder, and why they do not."""
    files = sorted(folder.glob("input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    feeds = [numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes())) for file in files]
    one, other = answers(a, feeds), answers(b, feeds)
    if isinstance(one, str):
        return "", "ONNX Runtime does not run the original: " + one
    if isinstance(other, str):
        return "does not run", ""
    return moved(one, other, felt), ""


def name_of(file):
    return file.parent.name if file.name == "model.onnx" else file.stem.rsplit(".", 1)[0]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 5))


def judged(program, file, grade, fault, seed, kept):
    """A row, or in a word why this fault does not count."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        net = Net(str(file))
        try:
            if not fault.plant(net, random.Random(seed)):
                return "no place for it"
        except IndexError:
            return "no place for it"
        wrong, repro, data = folder / "b.onnx", folder / "repro", folder / "data"
        onnx.save(net.model, str(wrong))
        words = [program, "verify", str(file), str(wrong), "--samples=1", "--save-data", str(data), "--save-repro", str(repro), "--json"]
        begin = time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit)
        seconds = time.monotonic() - begin
        if done.returncode < 0 or done.returncode == 70:
            return f"verify ends with {done.returncode}"
        report = json.loads(done.stdout) if done.stdout else {}
        if done.returncode != 1 or report["verdict"] != "different":
            shown = "verdict" in report and differ(file, wrong, data / "test_data_set_0", FELT[grade])[0]
            return "verify: " + ("ONNX Runtime shows it, " if shown else "") + report.get("verdict", report.get("error", {}).get("message", f"exit {done.returncode}").rsplit(": ", 1)[-1][:60])
        whole, why = differ(file, wrong, data / "test_data_set_0", FELT[grade])
        if not whole:
            return why.split(":")[0] or "not seen in ONNX Runtime"
        made = report.get("reproducers", [])
        row = {"model": name_of(file), "grade": grade, "fault": fault.name, "seconds": seconds,
               "made": len(made), "whole": whole, "differs": False, "fails": "", "why": made[0].get("reason", "") if made else "no node named"}
        first = made[0] if made else {}
        if "folder" in first:
            part = pathlib.Path(first["folder"])
            size = sum(one.stat().st_size for one in part.rglob("*") if one.is_file())
            fails, why = differ(part / "a.onnx", part / "b.onnx", part / "test_data_set_0")
            row |= {"differs": first["differs"], "fails": fails, "nodes": first["nodes_b"], "bytes": size, "why": row["why"] or why}
        if kept and not row["fails"]:
            target = kept / f"{row['model']}.{grade}.{fault.name.replace(' ', '_').replace('/', '')}"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target)
            shutil.copy(file, target / "a.onnx")
        return row


def places(folder, made):
    """Faults at models, of each grade in turns."""
    files = [file for file in sorted(folder.rglob("model.onnx")) if file.stat().st_size < LARGEST and not (file.parent / "model.onnx.data").exists()]
    by_grade = {grade: [(fault, file, grade) for fault in FAULTS for file in found] for grade, found in grades.of(files, made).items()}
    for found in by_grade.values():
        random.Random(1).shuffle(found)
    return [place for group in zip(*by_grade.values()) for place in group]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--models", type=pathlib.Path, default=grades.cache() / "models")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--earlier", type=pathlib.Path, help="the --json of an earlier run, whose faults are not planted again")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the files of what does not hold")
    options = parser.parse_args(argv)
    rows, left_out = json.loads(options.earlier.read_text())["rows"] if options.earlier else [], collections.Counter()
    known = {(row["model"], row["grade"], row["fault"]) for row in rows}
    tasks = {f"{file} {grade} {fault.name}": (options.program, file, grade, fault, f"{file.name} {file.parent.name} {fault.name}", options.keep)
             for fault, file, grade in places(options.models, grades.cache() / "peers/grades") if (name_of(file), grade, fault.name) not in known}
    for name, row, why in crew.done(judged, tasks, options.jobs):
        if not isinstance(row, dict):
            left_out[row or why] += 1
            continue
        rows.append(row)
        if not row["fails"]:
            print(f"no failing reproducer: {row['model']}, {row['grade']}, {row['fault']}: {row['why'] or 'the same in ONNX Runtime'}", flush=True)
        if options.json:
            options.json.write_text(json.dumps({"rows": rows, "left out": left_out}, indent=1))
        if len(rows) == options.count:
            break
    lines = []
    for grade in (*FELT, "all"):
        of = [row for row in rows if grade in (row["grade"], "all")]
        written = [row for row in of if "bytes" in row]
        line = [grade, len({row["model"] for row in of}), len(of), len(written), sum(row["differs"] for row in written), sum(bool(row["fails"]) for row in written)]
        for key in ("nodes", "bytes", "seconds"):
            line += [table.median([row[key] for row in written]), max((row[key] for row in written), default=None)]
        lines.append(line)
    heads = ["", "models", "faults", "reproducers", "fail here", "in ONNX Runtime", "median nodes", "most", "median bytes", "most", "median s", "most"]
    print("\n".join(table.lines(heads, lines)))
    print("left out: " + "; ".join(f"{count} {why}" for why, count in left_out.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
