"""Faults of optimizers: does `python -m relayout.blame` name the pass and the node, and is the fault real?

  RELAYOUT_PYTHON=PYTHON cmake/dev bench blame [--only GLOB…] [--json FILE] [--keep DIR]
  RELAYOUT_PYTHON=PYTHON cmake/dev bench blame --scan TOOL… [--only GLOB…]

Models are those of the ONNX package's backend tests (onnx:NAME), the trained ones of RELAYOUT_MODELS (real:NAME), and small ones built from
threads of ONNX Runtime (ort:NUMBER). A fault is real where ONNX Runtime, without optimizations, loads and runs the original but not the tool's file, or
computes something else. --scan tries a tool on all models with stored inputs, zeros and other sizes of free dims, and prints what is wrong. A row may
name versions of packages: pip puts them below the cache of relayout; PYTHONPATH=DIR:… lets --scan take one."""
import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import crew
import numpy
import onnx
import truth
from onnx import numpy_helper, parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake/package/python"))
import relayout  # noqa: E402
from relayout import blame  # noqa: E402

VERSIONS = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "relayout/peers/versions"
TRAINED = pathlib.Path(os.environ.get("RELAYOUT_MODELS") or pathlib.Path.home() / ".cache/relayout/models")
LEAST_ERROR = 1e-3  # of the range
LARGEST = 120_000_000

ROWS = [("ort", "ort:32132", "extended"), ("ort", "ort:32416", "basic"), ("ort", "ort:17689", "extended"), ("ort", "ort:22177", "basic"),
        ("ort", "ort:32414", "basic"), ("ort", "ort:8203", "extended"),
        ("onnxslim", "real:yahoo-nsfw", ""), ("onnxslim", "real:lac", ""), ("onnxsim", "real:silero-half", ""), ("onnxsim", "real:silero-op15", ""),
        *(("onnxslim", f"real:{name}", "", "onnxslim==0.1.31 onnx==1.16.2") for name in ("oww-jarvis", "silero-half", "silero-ifless")),
        *(("onnxslim", f"real:{name}", "", "onnxslim==0.1.34 onnx==1.16.2") for name in ("mtcnn-o", "titles-enc", "ppocr2-cls")),
        *(("onnxslim", f"real:{name}", "", "onnxslim==0.1.65 onnx==1.19.1") for name in ("khmersm", "sk-knv")),
        *(("onnxslim", f"real:{name}", "", "onnxslim==0.1.80 onnx==1.19.1") for name in ("romanizer-enc", "ppocr6-rec")),
        ("onnxslim", "real:mobilenet_v2_raw", "", "onnxslim==0.1.94"), ("onnxoptimizer", "real:ppocr4-det", "", "onnxoptimizer==0.3.13"),
        ("onnxoptimizer", "real:mobilenet_v2_raw", "", "onnxoptimizer==0.3.13"), ("onnxsim", "real:mobilenet_v2_raw", "", "onnxsim==0.4.36"),
        ("onnxoptimizer", "onnx:test_group_normalization_epsilon_expanded", ""), ("onnxoptimizer", "onnx:test_shape_start_greater_than_end", ""),
        ("onnxslim", "onnx:test_affine_grid_2d_expanded", ""), ("onnxslim", "onnx:test_reshape_one_dim", ""), ("onnxslim", "onnx:test_if_opt", ""),
        ("onnxslim", "onnx:test_squeeze_negative_axes", ""), ("onnxslim", "onnx:test_not_2d", ""),
        ("onnxslim", "onnx:test_castlike_FLOAT_to_FLOAT16_expanded", ""),
        ("onnxsim", "onnx:test_affine_grid_3d_align_corners_expanded", ""), ("onnxsim", "onnx:test_PixelShuffle", ""),
        ("onnxscript", "onnx:test_mvn_expanded", ""), ("onnxscript", "onnx:test_split_to_sequence_1", ""), ("onnxscript", "onnx:test_sequence_model5", "")]

# What the threads describe, as small as it shows there.
QUANTIZED = "xq = QuantizeLinear (x, sx, z) xd = DequantizeLinear (xq, sx, z)"
FOLDED_ONE = "folded = Div (one, other) y = Mul (mid, folded)"
THREADS = {
    "32132": "g (float[1,8,8,8] x) => (float[1,8,4,4] y) <float sx = {0.1}, float sy = {0.05}, uint8 z = {128}> { " + QUANTIZED +
             " p = AveragePool <kernel_shape = [2,2], strides = [2,2]> (xd) yq = QuantizeLinear (p, sy, z) y = DequantizeLinear (yq, sy, z) }",
    "32416": "g (float[4] x) => (float[4] y) <float[1] one = {1}, float[1] other = {1}> { mid = Cast <to = 1> (x) " + FOLDED_ONE + " }",
    "32414": "g (float[4] x) => (float[4] y) <float[1] one = {1}, float[1] other = {1}> { mid = Dropout (x) " + FOLDED_ONE + " }",
    "17689": "g (float16[1,8,4] x, float16[1,8,4] skip) => (float16[1,8,4] y) <float16[4] gamma = {1, 2, 3, 4}, float16[4] beta = {4, 3, 2, 1}> "
             "{ s = Add (x, skip) y = LayerNormalization <axis = -1> (s, gamma, beta) }",
    "22177": "g (float[1,1,4,4] x) => (float[1,1,5,5] y) <int64[8] pads = {0,0,1,1,0,0,1,1}, float v = {0}> "
             "{ p = Pad <mode = \"constant\"> (x, pads, v) y = AveragePool <kernel_shape = [2,2], strides = [1,1], pads = [0,0,0,0]> (p) }",
    "8203": "g (float[1,1] x) => (float[1,2] y) <float eps = {1e-5}, float two = {2}, float[2] scale = {3, 4}> { p = Pow (x, two) "
            "m = ReduceMean <axes = [-1]> (p) a = Add (m, eps) s = Sqrt (a) d = Div (x, s) y = Mul (d, scale) }",
}


# --- models with inputs ---------------------------------------------------------------------------------------------------------------


def node_cases() -> dict:
    from onnx.backend.test.case.node import collect_testcases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None) if case.model is not None}


def proto_of(value, port):
    if isinstance(value, onnx.TensorProto):
        return value
    make = {"sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional}.get(port.type.WhichOneof("value"))
    return make(value) if make else numpy_helper.from_array(numpy.asarray(value))


def stored_folders() -> dict:
    """Of models in files, by the names that rows use."""
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    found = {f"onnx:{file.parent.name}": file.parent for kind in ("simple", "pytorch-operator", "pytorch-converted") for file in data.glob(f"{kind}/*/model.onnx")}
    return {**found, **{f"real:{file.parent.name}": file.parent for file in sorted(TRAINED.rglob("model.onnx")) if file.stat().st_size < LARGEST}}


def array_of(file: pathlib.Path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))


def written(name: str, cases: dict, folders: dict, folder: pathlib.Path):
    """The model's file and one set of inputs by name; none where they are no tensors."""
    if name in folders:
        file = folders[name] / "model.onnx"
        data = sorted((folders[name] / "test_data_set_0").glob("input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
        values = [array_of(file) for file in data]
    else:
        kind, number = name.split(":")
        file = folder / f"{number}.onnx"
        if kind == "ort":
            model, random = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {THREADS[number]}'), numpy.random.default_rng(0)
            values = [(3 * random.standard_normal([dim.dim_value for dim in one.type.tensor_type.shape.dim])).astype(
                onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)) for one in model.graph.input]
        else:
            model = cases[number].model
            values = [proto_of(value, port) for value, port in zip(cases[number].data_sets[0][0], model.graph.input)]
            values = [numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else None for value in values]
        onnx.save(model, str(file))
    initialized = {tensor.name for tensor in onnx.load(str(file), load_external_data=False).graph.initializer}
    names = [one.name for one in onnx.load(str(file), load_external_data=False).graph.input if one.name not in initialized]
    return file, dict(zip(names, values)) if len(names) == len(values) and all(value is not None for value in values) else None


def feeds_of(session, given):
    """Inputs with names: those stored, zeros, and other sizes of free dims."""
    yield "stored inputs", given
    yield "zeros", {name: value * 0 if value.dtype.kind == "f" else value for name, value in given.items()}
    free = {}
    for port in session.get_inputs():
        for axis, size in enumerate(port.shape):
            if not isinstance(size, int) and given.get(port.name) is not None and given[port.name].ndim == len(port.shape):
                free.setdefault(size or (port.name, axis), []).append((port.name, axis))
    for symbol, places in free.items():
        for change in (1, -1, 7):
            feed = dict(given)
            for name, axis in places:
                size = feed[name].shape[axis]
                if size > 0 and size + change > 0:
                    feed[name] = numpy.take(feed[name], numpy.arange(size + change) % size, axis)
            yield f"{symbol} {change:+}", feed


# --- what ONNX Runtime says -------------------------------------------------------------------------------------------------------------


def difference(right, other) -> str:
    """How an output differs; empty: it does not."""
    if isinstance(right, list):
        return "" if len(right) == len(other) and not any(map(difference, right, other)) else "another sequence"
    if right is None or other is None or isinstance(right, dict):
        return "" if right is other or right == other else "another value"
    if right.shape != other.shape or right.dtype != other.dtype:
        return f"{other.dtype}{list(other.shape)}, was {right.dtype}{list(right.shape)}"
    if right.dtype.kind != "f":
        return "" if (right == other).all() else f"{int((right != other).sum())} of {right.size} elements differ"
    a, b = right.astype(float), other.astype(float)
    if (numpy.isnan(a) != numpy.isnan(b)).any():
        return f"{int((numpy.isnan(a) != numpy.isnan(b)).sum())} of {a.size} elements are NaN in one"
    finite = numpy.isfinite(a)
    if (a[~finite & ~numpy.isnan(a)] != b[~finite & ~numpy.isnan(a)]).any() or not numpy.isfinite(b[finite]).all():
        return "infinite in one"
    error = numpy.abs(a[finite] - b[finite]).max(initial=0) / max(numpy.ptp(a[finite]) if finite.any() else 0, numpy.abs(a[finite]).max(initial=0), 1e-30)
    return f"error {error:.1e} of the range" if error > LEAST_ERROR else ""


def shown(file, out, why, given):
    """What ONNX Runtime shows, and the inputs with which it does; empty: nothing."""
    if why:
        return "no file", None
    session = truth.session(file)
    try:
        other = truth.session(out)
    except Exception:
        return "does not load", None
    if [port.name for port in session.get_outputs()] != [port.name for port in other.get_outputs()]:
        return "other outputs", None
    left = {one.name for one in other.get_inputs()}
    lost = next((f"no input '{port.name}'" for port in session.get_inputs() if port.name not in left), "")
    for name, feed in feeds_of(session, given) if given else ():
        try:
            right = session.run(None, feed)
        except Exception:  # the model does not take these sizes
            continue
        try:
            found = next(filter(None, map(difference, right, other.run(None, {name: value for name, value in feed.items() if name in left}))), "")
        except Exception:
            found = "does not run"
        if found and not next(filter(None, map(difference, right, session.run(None, feed))), ""):  # random numbers
            return f"{found} ({name})", feed
    return lost, None


def by_its_kernels(program, file, given, level, folder):
    """Whether ONNX Runtime's optimized run differs where its file does not, and what relayout says of its outputs."""
    import onnxruntime
    levels = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED"}
    right, other = truth.session(file).run(None, given), truth.session(file, getattr(onnxruntime.GraphOptimizationLevel, levels[level])).run(None, given)
    count = sum(int((a != b).sum()) for a, b in zip(right, other))
    if count == 0:
        return ""
    data = folder / "test_data_set_0"
    data.mkdir(exist_ok=True)
    for kind, values in (("input", given.values()), ("output", other)):
        for number, value in enumerate(values):
            (data / f"{kind}_{number}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    text = subprocess.run([program, "verify", str(file), "--data", str(data), "--mode", "as-written"], capture_output=True, text=True).stdout
    return f"{count} of {sum(a.size for a in right)} elements by its kernels; verify --data: {' '.join(text.split())}"


# --- the table --------------------------------------------------------------------------------------------------------------------------


def bytes_of(folder) -> int:
    return sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())


def written_by(tool, level, passes, file, out) -> str:
    """Runs the tool. Gives back why there is no file, or nothing."""
    with tempfile.TemporaryDirectory() as place:
        return blame.Trial(str(file), tool, level, place, {}).write(str(out), passes)


def reproducer_of(tool, level, passes, repro: pathlib.Path) -> str:
    """Its nodes and bytes, and what ONNX Runtime shows of the tool's file of it."""
    for file in filter(pathlib.Path.exists, (repro / "part/a.onnx", repro / "1/a.onnx")):
        data = sorted(file.parent.glob("test_data_set_0/input_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
        given = dict(zip((port.name for port in truth.session(file).get_inputs()), map(array_of, data)))
        with tempfile.TemporaryDirectory() as place:
            out = pathlib.Path(place) / "out.onnx"
            fault = shown(file, out, written_by(tool, level, passes, file, out), given)[0]
        nodes = sum(node.op_type != "Constant" for node in onnx.load(str(file)).graph.node)
        return f"{nodes} node{'s' * (nodes > 1)}, {bytes_of(file.parent):,} bytes: {fault or 'right alone'}"
    return "the model"


def judged(program, row, cases, folders, keep):
    tool, name, level = row
    start = time.monotonic()
    repro = keep / f"{tool}.{name.replace(':', '.')}"
    shutil.rmtree(repro, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        file, given = written(name, cases, folders, folder)
        level = level or blame.TOOLS[tool].levels[0]
        out = folder / "out.onnx"
        fault, feed = shown(file, out, written_by(tool, level, blame.TOOLS[tool].passes(level), file, out), given)
        inputs = {"input": feed or given} if given or not fault else {}
        found = blame.blame(str(file), tool, level, str(repro), **inputs)
        report = found["report"]
        kernels = by_its_kernels(program, file, given, level, folder) if tool == "ort" and report["verdict"] == "same" else ""
    first = report.get("first_divergence") or report.get("part") or {}
    node = f"{first['node']} ({first['op']})" if first else fault.removeprefix("no ") if fault.startswith("no input") else ""
    return {"tool": f"{found['tool']} {found['version']}", "model": name, "fault": fault, "kernels": kernels, "passes": found["passes"], "node": node,
            "verdict": report["verdict"], "reason": report.get("reason", ""), "seconds": round(time.monotonic() - start),
            "reproducer": reproducer_of(tool, level, found["passes"], repro) if blame.is_fault(report) else ""}


def folder_of(version: str) -> pathlib.Path:
    """Where this version of a package is, without what it requires."""
    folder = VERSIONS / version.replace("==", "-")
    if not folder.exists():
        part = VERSIONS / f"{folder.name}.{os.getpid()}"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part), version], check=True)
        os.replace(part, folder)
    return folder


def judged_beside(program, row, keep):
    """As judged(), in a process that imports other versions of the packages."""
    *row, versions = row
    with tempfile.TemporaryDirectory() as place:
        paths = [*map(str, map(folder_of, versions.split())), *filter(None, [os.environ.get("PYTHONPATH")])]
        words = [sys.executable, __file__, "--program", program, "--keep", str(keep), "--json", place + "/row.json", "--row", *row]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        return json.loads(pathlib.Path(place, "row.json").read_text())[0]


def scanned(tool, name, cases, folders):
    """What is wrong with the tool's file; None: ONNX Runtime does not run the model."""
    with tempfile.TemporaryDirectory() as place:
        file, given = written(name, cases, folders, pathlib.Path(place))
        try:
            truth.session(file).run(None, given or {})
        except Exception:
            return None
        level = blame.TOOLS[tool].levels[0]
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        why = ""
        try:
            blame.TOOLS[tool].write(str(file), place + "/out.onnx", level, blame.TOOLS[tool].passes(level))
        except BaseException as error:
            why = repr(error)
        return shown(file, place + "/out.onnx", why, given)[0] + (f": {why[:120]}" if why else "")


def scan(options, cases, folders):
    names = [name for name in [*(f"onnx:{name}" for name in cases), *folders] if any(fnmatch.fnmatch(name, glob) for glob in options.only)]
    for tool in options.scan:
        blame.TOOLS[tool].passes(blame.TOOLS[tool].levels[0])  # imports it once for all
        counts = {"tried": 0, "wrong": 0}
        for name, found, why in crew.done(scanned, {name: (tool, name, cases, folders) for name in names}, 1):
            counts["tried"] += found is not None or bool(why)
            if found or why:
                counts["wrong"] += 1
                print(f"{tool}  {name}  {found or why}", flush=True)
        print(f"{tool}: {counts['wrong']} of {counts['tried']}", flush=True)


def main(argv):
    parsed = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parsed.add_argument("--program", required=True)
    parsed.add_argument("--only", nargs="+", default=["*"], metavar="GLOB", help="of models")
    parsed.add_argument("--scan", nargs="+", choices=sorted(blame.TOOLS), metavar="TOOL")
    parsed.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/blame"), help="for reproducers")
    parsed.add_argument("--json", type=pathlib.Path)
    parsed.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    options = parsed.parse_args(argv)
    relayout.command = lambda words: [options.program, *map(os.fspath, words)]
    cases, folders = {} if options.row else node_cases(), stored_folders()
    if options.scan:
        scan(options, cases, folders)
        return 0
    rows = []
    print("| tool | model | ONNX Runtime without optimizations | relayout | pass | node | reproducer | s |\n|---|---|---|---|---|---|---|---|")
    for row in [options.row] if options.row else ROWS:
        if not any(fnmatch.fnmatch(row[1], glob) for glob in options.only) or (row[1].startswith("real:") and row[1] not in folders):
            continue
        one = judged_beside(options.program, row, options.keep) if len(row) > 3 else judged(options.program, row, cases, folders, options.keep)
        rows.append(one)
        passes = ", ".join(one["passes"]) or ("none: reading and writing" if one["reproducer"] else "")
        print(f"| {one['tool']} | {one['model']} | {one['kernels'] or one['fault'] or 'the same'} | {one['verdict']} | {passes} | {one['node']} | "
              f"{one['reproducer']} | {one['seconds']} |", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
