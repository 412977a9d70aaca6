"""Dims, opsets and images of trained models, changed by `relayout convert`: is each result right in ONNX Runtime, or refused with a reason?

  RELAYOUT_PYTHON=PYTHON cmake/dev bench edits [--models GLOB…] [--exports GLOB…] [--kinds dims opsets bytes integers] [--json FILE] [--jobs N]

Each model of RELAYOUT_MODELS, and of its folder `real`; for dims and integers also the exports of `bench nodes`. dims: fixed first dims of inputs are made free, and the result runs at sizes 1, 2, 3 and 7, against as many
runs of the original; free dims are set to these sizes and to the stored one. opsets: to 11, 13, 17, 21, 23 and from each back to the model's own.
bytes: images become bytes, channels-last; the original gets numpy's (byte / 255 - mean) / std, and may differ by what the last bit of these numbers moves.
integers: inputs and constants of int64 in 32 bits (--int32 --verify), which must give the same bits.
PYTHON has numpy, onnx and onnxruntime. Files stay below XDG_CACHE_HOME/relayout/peers/edits."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import warnings

import crew
import nodes
import numpy
import onnx
import table
import trained

SIZES, OPSETS = (1, 2, 3, 7), (11, 13, 17, 21, 23)
EXACT, FLOORS = 1e-4, 5  # of the range; of what the last bit of an input moves
FOLDER = trained.CACHE / "peers/edits"


def converted(program, file, result, *words, folds: str = "--no-fold") -> str:
    """Why there is no result; empty where there is one."""
    done = subprocess.run([program, "convert", file, "-o", result, "--layout", "keep", folds, "-q", *words], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines() or [""]
    return f"exit {done.returncode}: {said[-1].removeprefix('relayout: ').removeprefix(str(file) + ': ')[:240]}"


def compared(right: dict, file: pathlib.Path, feed: list, bound: float = EXACT, images_last: bool = False) -> str:
    """What is wrong about a file's outputs; empty: nothing."""
    try:
        worst = trained.error(right, trained.answers(file, feed, images_last), images_last)
    except Exception as problem:
        return "ONNX Runtime does not run it: " + str(problem).strip().splitlines()[0][:160]
    return "" if worst <= bound else f"error {worst:.2g}"


def row(name: str, edit: str, sizes, refusal: str, wrong: str, left_out: str = "") -> dict:
    end = "wrong" if wrong else "refused" if refusal else "left out" if left_out else "right"
    return {"model": name, "edit": edit, "sizes": list(sizes), "end": end, "why": wrong or refusal or left_out}


# --- dims ---------------------------------------------------------------------------------------------------------------------------


def declared(file: pathlib.Path) -> dict[str, list]:
    """Dims by input that no initializer stands for: numbers, names, None where nothing is known."""
    graph = onnx.load(file, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    return {value.name: [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in value.type.tensor_type.shape.dim]
            for value in graph.input if value.name not in stored}


def variant(value, number: int):
    """Other numbers of the same kind; integers and booleans may choose, and stay."""
    return (value * (1 - numpy.float32(0.1) * number)).astype(value.dtype) if value.dtype.kind == "f" else value


def joined(parts: list):
    """Outputs of single runs as the output of one run, along the dim that grows; what all runs give alike counts once."""
    def join(values):
        return numpy.concatenate(values, axis=0) if values[0].ndim else values[0]
    return {name: join([part[name] for part in parts]) for name in parts[0]}


def free(program, name: str, file: pathlib.Path, dims: dict, feed: list):
    firsts = [one for one, of in dims.items() if len(of) > 1 and of[0] == 1]
    if not firsts:
        return
    result = FOLDER / f"{name}.free.onnx"
    refusal = converted(program, file, result, *[word for one in firsts for word in ("--free-dim", f"{one}:0=N")])
    wrong, ran = "", []
    for size in () if refusal else SIZES:
        feeds = [[variant(value, k) if one in firsts else value for one, value in zip(dims, feed)] for k in range(size)]
        right = joined([trained.answers(file, one, False) for one in feeds])
        together = [numpy.concatenate([one[at] for one in feeds]) if of in firsts else feed[at] for at, of in enumerate(dims)]
        ran.append(size)
        if wrong := compared(right, result, together):
            break
    yield row(name, "free " + ", ".join(f"{one}:0" for one in firsts), ran, refusal, f"size {ran[-1]}: {wrong}" if wrong else "")


def resized(value, axis: int, size: int):
    return numpy.take(value, numpy.arange(size) % max(1, value.shape[axis]), axis=axis)


def set_one(program, name: str, file: pathlib.Path, dims: dict, feed: list, dim: str):
    places = [(at, axis) for at, of in enumerate(dims.values()) for axis, one in enumerate(of) if one == dim]
    stored = feed[places[0][0]].shape[places[0][1]]
    tried, refusals, wrong = [], [], ""
    for size in dict.fromkeys((*SIZES, stored)):
        given = list(feed)
        for at, axis in places:
            given[at] = resized(given[at], axis, size)
        try:
            right = trained.answers(file, given, False)
        except Exception:
            continue  # nothing to compare with
        result = FOLDER / f"{name}.set.onnx"
        refusal = converted(program, file, result, "--set-dim", f"{dim}={size}")
        tried.append(size)
        if refusal:
            refusals.append(f"{size}: {refusal}")
        elif wrong := compared(right, result, given):
            wrong = f"size {size}: {wrong}"
            break
    yield row(name, f"set {dim}", tried, "; ".join(refusals), wrong, "" if tried else "the original runs at none of the sizes")


def of_dims(program, name: str, file: pathlib.Path, feed: list = ()):
    dims, feed = declared(file), feed or trained.stored(file)
    if len(dims) != len(feed):
        return
    yield from free(program, name, file, dims, feed)
    for dim in dict.fromkeys(one for of in dims.values() for one in of if isinstance(one, str)):
        yield from set_one(program, name, file, dims, feed, dim)


# --- opsets -------------------------------------------------------------------------------------------------------------------------


def of_opsets(program, name: str, file: pathlib.Path):
    feed = trained.stored(file)
    right = trained.answers(file, feed, False)
    own = next(entry.version for entry in onnx.load(file, load_external_data=False).opset_import if entry.domain in ("", "ai.onnx"))
    for opset in OPSETS:
        there, back = FOLDER / f"{name}.{opset}.onnx", FOLDER / f"{name}.back.onnx"
        refusal = converted(program, file, there, "--opset", str(opset))
        yield row(name, f"{own} to {opset}", (), refusal, "" if refusal else compared(right, there, feed))
        if refusal or opset == own:
            continue
        refusal = converted(program, there, back, "--opset", str(own))
        yield row(name, f"{own} to {opset} and back", (), refusal, "" if refusal else compared(right, back, feed))


# --- bytes --------------------------------------------------------------------------------------------------------------------------


def added_nodes(file: pathlib.Path, result: pathlib.Path) -> str:
    """Operators that a result has more often."""
    def count(path):
        return collections.Counter(node.op_type for node in onnx.load(path, load_external_data=False).graph.node)
    return " ".join(f"{op} {number}" if number > 1 else op for op, number in (count(result) - count(file)).items())


def of_bytes(program, name: str, file: pathlib.Path):
    """Each input of images with three channels that come first."""
    dims, feed = declared(file), trained.stored(file)
    if len(dims) != len(feed):
        return
    mean, deviation = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
    for at, (image, of) in enumerate(dims.items()):
        if len(of) < 4 or of[1] != 3 or feed[at].dtype != numpy.float32:
            continue
        words = ["--io", "nhwc", "--input-u8", image, "--mean", ",".join(map(str, mean)), "--std", ",".join(map(str, deviation))]
        pixels = numpy.random.default_rng(7).integers(0, 256, numpy.moveaxis(feed[at], 1, -1).shape, dtype=numpy.uint8)
        numbers = numpy.ascontiguousarray(numpy.moveaxis((pixels / 255 - mean) / deviation, -1, 1)).astype(numpy.float32)
        result = FOLDER / f"{name}.bytes.onnx"
        refusal = converted(program, file, result, *words, folds="--fold")
        wrong, more = "", ""
        if not refusal:
            right = trained.answers(file, [*feed[:at], numbers, *feed[at + 1:]], False)
            moved = trained.answers(file, [*feed[:at], numpy.nextafter(numbers, numpy.float32(numpy.inf)), *feed[at + 1:]], False)
            bound = max(EXACT, FLOORS * trained.error(right, moved, False))
            wrong = compared(right, result, [*feed[:at], pixels, *feed[at + 1:]], bound, True)
            more = ": " + added_nodes(file, result)
        yield row(name, f"bytes of {image}{more}", (), refusal, wrong)


# --- the table ----------------------------------------------------------------------------------------------------------------------

# --- integers -----------------------------------------------------------------------------------------------------------------------


def kinds_of(file: pathlib.Path) -> list:
    """Types of the inputs that no initializer stands for."""
    graph = onnx.load(file, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    return [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in graph.input if value.name not in stored]


def of_integers(program, name: str, file: pathlib.Path, feed: list = ()):
    feed, result, wide = feed or trained.stored(file), FOLDER / f"{name}.int32.onnx", kinds_of(file).count(numpy.int64)
    if not wide or len(feed) != len(kinds_of(file)):
        return
    if refusal := converted(program, file, result, "--int32", "--verify"):
        yield row(name, f"int32: {wide} inputs", [], refusal, "")
        return
    narrow = [value.astype(kind) for value, kind in zip(feed, kinds_of(result))]
    yield row(name, f"int32: {wide} inputs", [], "", compared(trained.answers(file, feed, False), result, narrow, 0) or ("int64 stays" if numpy.int64 in kinds_of(result) else ""))


KINDS = {"dims": of_dims, "opsets": of_opsets, "bytes": of_bytes, "integers": of_integers}


def work(program, name: str, file: pathlib.Path, kinds, feed: list = ()) -> list[dict]:
    warnings.simplefilter("ignore")
    if feed:
        return [found | {"kind": kind} for kind in kinds for found in KINDS[kind](program, name, file, feed)]
    return [found | {"kind": kind} for kind in kinds for found in KINDS[kind](program, name, file)]


def show(rows: list):
    print("\n".join(table.lines(["model", "edit", "sizes", "end"], [[one["model"], one["edit"], " ".join(map(str, one["sizes"])), one["end"]] for one in rows])))
    for one in rows:
        if one["why"]:
            print(f"{one['model']}, {one['edit']}: {one['end']}: {one['why']}")
    for kind in dict.fromkeys(one["kind"] for one in rows):
        of = [one for one in rows if one["kind"] == kind]
        ends = {end: sum(one["end"] == end for one in of) for end in ("right", "refused", "wrong", "left out")}
        print(f"{kind}: {len({one['model'] for one in of})} models, {len(of)} edits: " + ", ".join(f"{count} {end}" for end, count in ends.items()))


def main(argv):
    parser = argparse.ArgumentParser(prog="bench edits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="relayout")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(os.environ.get("RELAYOUT_MODELS") or trained.CACHE / "models"))
    parser.add_argument("--models", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--exports", nargs="*", default=nodes.EXPORTS, metavar="GLOB")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(argv)
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = []
    jobs = {name: (options.program, name, file, options.kinds) for name, file in trained.found(options).items()}
    of_exports = [kind for kind in options.kinds if kind in ("dims", "integers")]
    if of_exports:
        jobs |= {name: (options.program, name.replace("/", "-"), file, of_exports, feed) for name, (file, feed) in nodes.exports(options.exports).items()}
    for name, of_model, why in crew.done(work, jobs, options.jobs):
        if of_model is None:
            print(f"{name}: {why}", flush=True)
        rows += of_model or []
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    show(rows)
    return 1 if any(one["end"] == "wrong" for one in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
