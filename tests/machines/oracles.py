"""What judges: ONNX Runtime without optimizations says what a model computes, the program under test what it thinks of two."""

import json
import math
import os
import pathlib
import resource
import subprocess
import tempfile
from dataclasses import dataclass, field

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

LONGEST, LARGEST = 60, 4096  # of one call of the program: seconds of processor time, MiB
onnxruntime.set_default_logger_severity(4)


class Refused(Exception):
    """ONNX Runtime does not take or run a model."""


def session(model):
    """Of a model or a file."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # It removes pairs of quantizers even where optimizations are off.
    options.add_session_config_entry("session.disable_double_qdq_remover", "1")
    try:
        source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Refused(str(error)[:300]) from None


def run(runner, feeds) -> list:
    try:
        return runner.run(None, feeds)
    except Exception as error:
        raise Refused(str(error)[:300]) from None


def answers(model, feeds: list[dict]) -> list[list]:
    runner = session(model)
    names = {place.name for place in runner.get_inputs()}
    feeds = [{name: value for name, value in feed.items() if name in names} for feed in feeds]
    found = [run(runner, feed) for feed in feeds]
    # A BatchNormalization that trains writes its running mean over the stored one: the next run begins with that.
    if distance(found[0], run(runner, feeds[0])) > 0:
        raise Refused("ONNX Runtime does not repeat its outputs")
    return found


def reach(a) -> float:
    """The range of numbers; the largest where all are equal."""
    if not isinstance(a, numpy.ndarray) or a.dtype.kind not in "fiu":
        return 0.0
    x = a.astype(numpy.float64)
    x = x[numpy.isfinite(x)]
    return float(x.max() - x.min() or numpy.abs(x).max()) if x.size else 0.0


def apart(a, b, least=0.0) -> float:
    """The largest difference, of the range of what is right, or of `least`; infinite where dims, types, NaN or infinities differ."""
    if isinstance(a, list) or isinstance(b, list):
        return max((apart(one, other) for one, other in zip(a, b)), default=0.0) if type(a) is type(b) and len(a) == len(b) else math.inf
    if a is None or b is None:
        return 0.0 if a is b else math.inf
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return math.inf
    if a.dtype.kind not in "fiub":
        return 0.0 if (a == b).all() else math.inf
    if not a.size:
        return 0.0
    x, y = a.astype(numpy.float64), b.astype(numpy.float64)
    odd = ~numpy.isfinite(x) | ~numpy.isfinite(y)
    if odd.any():
        if not numpy.array_equal(x[odd], y[odd], equal_nan=True):
            return math.inf
        x, y = x[~odd], y[~odd]
        if not x.size:
            return 0.0
    error, of = float(numpy.abs(x - y).max()), max(reach(a), least)
    return error / of if of else error


def distance(right: list, other: list, least=()) -> float:
    """Of all outputs."""
    least = least or [0.0] * len(right)
    return max((apart(*one) for one in zip(right, other, least)), default=0.0) if len(right) == len(other) else math.inf


def moved(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """With every f32 weight moved by one unit in its last place; not the few numbers that sizes and limits are made of."""
    random, out = numpy.random.default_rng(seed), onnx.ModelProto()
    out.CopyFrom(model)
    kept = {name for node in out.graph.node if node.op_type in ("Resize", "Upsample") for name in node.input[1:]}
    for tensor in out.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and math.prod(tensor.dims) > 1 and tensor.name not in kept:
            value = numpy_helper.to_array(tensor)
            target = numpy.where(random.random(value.shape) < 0.5, -numpy.inf, numpy.inf).astype(numpy.float32)
            tensor.CopyFrom(numpy_helper.from_array(numpy.nextafter(value, target), tensor.name))
    return out


def jittered(feed: dict, seed: int) -> dict:
    random = numpy.random.default_rng(seed)
    return {
        name: (value * (1 + (random.random(value.shape) - 0.5) * 2e-7)).astype(value.dtype) if value.dtype.kind == "f" else value
        for name, value in feed.items()
    }


def floors(model, feeds, right, least) -> list[float]:
    """How far correct evaluations lie apart, of each feed."""
    found = [0.0] * len(feeds)
    for seed in range(2):
        for i, other in enumerate(answers(moved(model, seed), [jittered(feed, seed) for feed in feeds])):
            found[i] = max(found[i], distance(right[i], other, least))
    return found


# --- the program under test --------------------------------------------------------------------------------------------------------


@dataclass
class Answer:
    code: int
    seconds: float
    mib: float
    report: dict = field(default_factory=dict)
    error: str = ""
    command: str = ""

    @property
    def word(self) -> str:
        return self.report.get("verdict") or {2: "usage", 3: "invalid", 4: "not supported", -24: "no end"}.get(self.code, f"exit {self.code}")

    @property
    def reason(self) -> str:
        return self.report.get("reason") or (self.report.get("error") or {}).get("message", "") or self.error

    @property
    def trouble(self) -> str:
        """What no call may show, whatever it was asked."""
        if self.code == 70 or self.code < 0 or self.code > 128:
            return f"ended with {self.code}: {self.reason[:200]}"
        if self.seconds > LONGEST or self.mib > LARGEST:
            return f"took {self.seconds:.0f} s and {self.mib:.0f} MiB"
        return ""


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 5))


class Program:
    def __init__(self, path: pathlib.Path):
        self.path, self.calls = path, 0

    def call(self, *words) -> Answer:
        self.calls += 1
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen([str(self.path), *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limit)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            text, error = out.read().decode(errors="replace"), err.read().decode(errors="replace").strip()
        try:
            report = json.loads(text)
        except json.JSONDecodeError:
            report = {}
        return Answer(
            child.returncode,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024,
            report,
            error or ("" if report else text.strip()),
            " ".join(map(str, ["relayout", *(word for word in words if word not in ("--json", "--threads", "1"))])),
        )

    def verify(self, a, b, *words) -> Answer:
        return self.call("verify", a, b, "--json", "--threads", "1", *words)

    def convert(self, a, b, *words) -> Answer:
        return self.call("convert", a, "-o", b, "--json", "--threads", "1", *words)


def proved(answer: Answer) -> bool:
    return answer.report.get("identical", False) or bool((answer.report.get("structure") or {}).get("proved"))


def nodes_named(answer: Answer) -> list[str]:
    """The node that the report accuses first: its name and what it makes."""
    first = answer.report.get("first_divergence") or {}
    if first:
        return [first["node"], first["tensor"], *first.get("replaces", [])]
    wrong = [check for check in answer.report.get("unexplained", []) if check["verdict"] == "different"]
    return [wrong[0]["node"], wrong[0]["name"]] if wrong else []
