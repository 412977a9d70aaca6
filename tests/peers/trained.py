"""Converts trained models as their owners would, and holds each result against ONNX Runtime and the verdict of verify.

  RELAYOUT_PYTHON=PYTHON cmake/dev bench trained [--models GLOB…] [--ways NAME…] [--json FILE] [--jobs N]

Each model of RELAYOUT_MODELS, and of its folder `real`, is converted in the ways of WAYS; ONNX Runtime runs both files on the stored inputs, and
verify judges them strictly: on inputs of its own, and in fp16, where these do not tell, on the stored ones. What fp16 may move is what ONNX
Runtime moves when the model's weights alone are rounded to it; a model that verify refuses for that (`convert --verify` writes nothing) counts as
refused. Then each output gets a node that changes its dims alone, which verify has to call different.
PYTHON has numpy, onnx and onnxruntime. Files stay below XDG_CACHE_HOME/relayout/peers/trained."""
import argparse
import fnmatch
import json
import os
import pathlib
import sys
from dataclasses import asdict, dataclass, field

NEEDED = ("numpy", "onnx", "onnxruntime")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "relayout"
# Options of convert, and those that tell verify about them.
WAYS = {"default": ([], []), "simplify": (["--simplify"], []), "nhwc": (["--io", "nhwc"], ["--io", "nhwc"]),
        "fp16": (["--precision", "fp16"], ["--precision", "fp16"])}
HALF, EXACT = 3e-2, 1e-4  # error over range against ONNX Runtime's run of the original, in fp16 and else
SHARE = 1.5  # of the error by rounded weights alone: what fp16 may add in its sums


def arguments(argv):
    parser = argparse.ArgumentParser(prog="bench trained", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="relayout")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(os.environ.get("RELAYOUT_MODELS") or CACHE / "models"))
    parser.add_argument("--models", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), default=list(WAYS), metavar="NAME")
    parser.add_argument("--no-dims", action="store_true", help="no nodes that change the dims of outputs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    return parser.parse_args(argv)


def found(options) -> dict[str, pathlib.Path]:
    """Model files by name; those of gigabytes, which have no stored inputs, are left out."""
    folders = [*options.folder.glob("*"), *options.folder.glob("real/*")]
    named = {folder.name: folder / "model.onnx" for folder in sorted(folders) if (folder / "test_data_set_0").is_dir()}
    return {name: file for name, file in named.items() if any(fnmatch.fnmatch(name, glob) for glob in options.models)}


# --- what ONNX Runtime computes -----------------------------------------------------------------------------------------------------


def stored(file: pathlib.Path) -> list:
    """The stored inputs, in the order of the graph's."""
    import onnx

    values = []
    for number in range(1000):
        part = file.parent / f"test_data_set_0/input_{number}.pb"
        if not part.exists():
            return values
        values.append(onnx.numpy_helper.to_array(onnx.TensorProto.FromString(part.read_bytes())))


def answers(file: pathlib.Path, feed: list, images_last: bool):
    """Outputs by name."""
    import numpy
    import truth

    runner = truth.session(file)
    given = {}
    for place, value in zip(runner.get_inputs(), feed):
        if images_last and value.ndim >= 4 and not fits(place.shape, value.shape):
            value = numpy.moveaxis(value, 1, -1)
        given[place.name] = value
    return dict(zip([place.name for place in runner.get_outputs()], runner.run(None, given)))


def fits(declared, dims) -> bool:
    return all(not isinstance(size, int) or size == dim for size, dim in zip(declared, dims))


def error(right: dict, other: dict, images_last: bool) -> float:
    """The largest, of the range of what is right, in the worst output; infinite where dims, types or the numbers of elements differ."""
    import numpy

    worst = 0.0
    for name, a in right.items():
        b = other.get(name)
        if images_last and b is not None and b.ndim >= 4 and b.shape != a.shape:
            b = numpy.moveaxis(b, -1, 1)
        if b is None or isinstance(a, list) or a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if a.dtype.kind not in "fiub":
            worst = max(worst, 0.0 if (a == b).all() else float("inf"))
            continue
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        if a.size and not numpy.array_equal(a, b, equal_nan=True):
            reach = numpy.nanmax(a) - numpy.nanmin(a) or numpy.nanmax(numpy.abs(a)) or 1.0
            largest = numpy.abs(a - b).max() / reach
            worst = max(worst, float(largest) if numpy.isfinite(largest) else float("inf"))
    return worst


def stored_words(file: pathlib.Path) -> list[str]:
    """Options of verify that give it the stored inputs."""
    import onnx

    graph = onnx.load(file, load_external_data=False).graph
    names = [one.name for one in graph.input if one.name not in {weight.name for weight in graph.initializer}]
    return [word for i, name in enumerate(names) for word in ("--input", f"{name}={file.parent}/test_data_set_0/input_{i}.pb")]


def with_rounded_weights(file: pathlib.Path) -> bytes:
    """The model with its weights of f32, those of nested graphs too, rounded to f16 as far as that holds them, and all else in f32."""
    import numpy
    import onnx

    model = onnx.load(file)

    def tensors(graph):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                yield from [attribute.t] if attribute.HasField("t") else []
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    yield from tensors(inner)

    for tensor in tensors(model.graph):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            values = onnx.numpy_helper.to_array(tensor)
            with numpy.errstate(over="ignore"):
                halves = values.astype(numpy.float16).astype(numpy.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(numpy.where(numpy.isfinite(halves), halves, values), tensor.name))
    return model.SerializeToString()


# --- conversions --------------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    model: str
    way: str
    converted: int = 0  # exit code
    error: float | None = None  # by ONNX Runtime
    rounded: float | None = None  # the same of the model whose weights alone are rounded to f16
    stored: bool = False  # the verdict is that on the stored inputs
    runs: str = ""  # why ONNX Runtime does not run the result
    code: int = 0  # of verify --strict
    verdict: str = ""
    proved: bool = False
    unexplained: int = 0
    cpu: float = 0.0
    why: str = ""
    missed: list = field(default_factory=list)  # outputs of other dims that are not called different
    planted: int = 0

    @property
    def is_right(self) -> bool:
        if self.way == "dims":
            return not self.missed
        return self.code == 0 and self.is_near and self.proved

    @property
    def is_near(self) -> bool:
        """To the original, in ONNX Runtime."""
        most = EXACT if self.way != "fp16" else max(HALF, SHARE * (self.rounded or 0))
        return not self.runs and (self.error is None or self.error <= most)

    @property
    def is_refused(self) -> bool:
        """By verify, because the model does not bear rounding to f16: that of its weights alone moves it too far."""
        return self.way == "fp16" and self.verdict == "inconclusive" and self.is_near and (self.rounded or 0) > HALF


def convert(judge, name: str, file: pathlib.Path, way: str, right) -> Row:
    import judge as judges

    row, words = Row(name, way), WAYS[way]
    result = CACHE / "peers/trained" / f"{name}.{way}.onnx"
    row.converted, _, out, err = judges.timed([judge.program, "convert", file, "-o", result, *words[0]])
    if row.converted != 0:
        row.why = (err or out).strip()[:300]
        row.code = row.converted
        return row
    if right is not None:
        try:
            row.error = error(right, answers(result, stored(file), way == "nhwc"), way == "nhwc")
        except Exception as problem:
            row.runs = str(problem).strip().splitlines()[0][:200]
    verdict = judge.verify(file, result, "--strict", *words[1])
    if way == "fp16":
        row.rounded = None if right is None else error(right, answers(with_rounded_weights(file), stored(file), False), False)
        row.stored = verdict.code == 1
        verdict = judge.verify(file, result, "--strict", *words[1], *stored_words(file)) if row.stored else verdict
    row.code, row.verdict, row.cpu, row.why = verdict.code, verdict.word, verdict.cpu, verdict.reason[:300]
    structure = verdict.report.get("structure") or {}
    row.proved, row.unexplained = bool(structure.get("proved")) or bool(verdict.report.get("identical")), len(structure.get("unexplained", []))
    return row


# --- outputs of other dims ----------------------------------------------------------------------------------------------------------


def with_other_dims(file: pathlib.Path, output: str, way: str, dims) -> bytes | None:
    """The model with one more node in front of an output, which gives the same numbers in other dims; None where there is none of that kind."""
    import numpy
    import onnx

    model = onnx.load(file)
    constants, attributes = [], {}
    if way == "Unsqueeze":
        opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        constants = [numpy.array([0])] if opset >= 13 else []
        attributes = {} if opset >= 13 else {"axes": [0]}
    elif way == "Reshape":
        flat = [1, -1] if len(dims) == 1 else [-1]
        constants = [numpy.array(flat)]
    elif len(dims) < 2 or dims[-1] == dims[-2] == 1:
        return None
    else:
        attributes = {"perm": [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]}
    inner = f"{output}/numbers"
    for node in model.graph.node:
        for names in (node.input, node.output):
            for index, one in enumerate(names):
                if one == output:
                    names[index] = inner
        rename_in_graphs(node, output, inner)
    if any(one.name == output for one in [*model.graph.input, *model.graph.initializer]):
        return None
    target = next(one for one in model.graph.output if one.name == output)
    target.type.tensor_type.ClearField("shape")
    names = [f"{output}/operand{index}" for index in range(len(constants))]
    model.graph.initializer.extend(onnx.numpy_helper.from_array(value, one) for value, one in zip(constants, names))
    model.graph.node.append(onnx.helper.make_node(way, [inner, *names], [output], name=f"{output}/{way}", **attributes))
    return model.SerializeToString()


def rename_in_graphs(node, name: str, other: str):
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            for inner in graph.node:
                for index, one in enumerate(inner.input):
                    if one == name:
                        inner.input[index] = other
                rename_in_graphs(inner, name, other)


def change_dims(judge, name: str, file: pathlib.Path, right) -> Row:
    """One output after the other, in three ways each."""
    row = Row(name, "dims")
    for output, value in right.items():
        if isinstance(value, list) or value.dtype.kind not in "fiub":
            continue
        for way in ("Unsqueeze", "Transpose", "Reshape"):
            changed = with_other_dims(file, output, way, value.shape) if value.ndim else None
            if changed is None:
                continue
            path = file.parent / f"{name}.{way}.part.onnx"  # beside its external data
            path.write_bytes(changed)
            verdict = judge.verify(file, path)
            path.unlink()
            row.planted += 1
            row.cpu += verdict.cpu
            if verdict.word != "different" or verdict.code != 1:
                row.missed.append(f"{output} {way}: {verdict.word} ({verdict.reason[:120]})")
    return row


def work(name: str, file: pathlib.Path, options) -> list[dict]:
    from judge import Judge

    judge, rows, right = Judge(options.program), [], None
    try:
        right = answers(file, stored(file), False)
    except Exception as problem:
        rows.append(Row(name, "original", runs=str(problem).strip().splitlines()[0][:200]))
    rows += [convert(judge, name, file, way, right) for way in options.ways]
    if right is not None and not options.no_dims:
        rows.append(change_dims(judge, name, file, right))
    return [asdict(row) | {"right": row.is_right, "refused": row.is_refused} for row in rows]


# --- the table ----------------------------------------------------------------------------------------------------------------------


def show(rows):
    import table

    head = ["model", "way", "right", "ONNX Runtime's error", "of rounded weights", "verdict", "exit", "proved", "unexplained", "dims changed",
            "missed", "s"]
    lines = [[row["model"], row["way"], "yes" if row["right"] else "refused" if row["refused"] else "no", row["error"], row["rounded"],
              (row["verdict"] or "-") + (" (stored inputs)" if row["stored"] else ""), row["code"],
              "-" if row["way"] == "dims" else "yes" if row["proved"] else "no", row["unexplained"], row["planted"], len(row["missed"]), row["cpu"]]
             for row in rows if row["way"] != "original"]
    print("\n".join(table.lines(head, lines)))
    for row in rows:
        if not row["right"]:
            said = "; ".join(row["missed"]) or row["runs"] or row["why"]
            print(f"{row['model']}, {row['way']}: {row['verdict']} {said}")
    for way in dict.fromkeys(row["way"] for row in rows):
        of = [row for row in rows if row["way"] == way]
        print(f"{way}: {sum(row['right'] for row in of)} of {len(of)} right, {sum(row['refused'] for row in of)} refused, "
              f"{sum(row['proved'] for row in of)} proved, {sum(row['planted'] for row in of)} outputs of other dims, {sum(len(row['missed']) for row in of)} missed")


def main(argv):
    import importlib.util

    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"bench trained: skipped: this Python has no {', '.join(missing)} (RELAYOUT_PYTHON names one that has)")
        return 0
    import crew

    options = arguments(argv)
    (CACHE / "peers/trained").mkdir(parents=True, exist_ok=True)
    rows = []
    for name, of, why in crew.done(work, {name: (name, file, options) for name, file in found(options).items()}, options.jobs):
        rows += of or [asdict(Row(name, "original", runs=why)) | {"right": False, "refused": False}]
        print(name, file=sys.stderr, flush=True)
    rows.sort(key=lambda row: row["model"])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
