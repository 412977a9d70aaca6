"""What two files compute, by ONNX Runtime with all optimizations off: the truth that verdicts are held against."""
import hashlib
import math
import os
import pathlib
import pickle
from dataclasses import dataclass

import numpy
import onnx
import onnxruntime
from models import Input, dims_of
from reals import in_reals

KEPT = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "relayout/peers/truth"
SAMPLES = 4
DRAWS = 3  # with weights moved by one ULP


def session(model, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
    """Of a file, or of a model's bytes."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def values_of(one: Input, random, sample: int):
    dims = dims_of(one)
    if one.kind == "ids":
        return random.integers(0, one.limit, dims)
    if one.kind == "mask":
        # As tokenizers pad: ones, then zeros; the first sample is full.
        lengths = numpy.full((dims[0], 1), dims[1]) if sample == 0 else random.integers(dims[1] // 2, dims[1] + 1, (dims[0], 1))
        return (numpy.arange(dims[1]) < lengths).astype(numpy.int64)
    return random.standard_normal(dims).astype(numpy.float32)


def samples(inputs: tuple[Input, ...], count=SAMPLES, seed=11):
    random = numpy.random.default_rng(seed)
    return [{one.name: values_of(one, random, sample) for one in inputs} for sample in range(count)]


def save(feeds, folder: pathlib.Path):
    """One folder for each input, one file for each sample, as --input NAME=DIR reads them: each whole at once, as other runs may read them."""
    for name in feeds[0]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i, feed in enumerate(feeds):
            part = folder / f"{os.getpid()}.part.npy"
            numpy.save(part, feed[name])
            os.replace(part, folder / name / f"{i:03}.npy")
    return [f"--input={name}={folder / name}" for name in feeds[0]]


TYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}


def kept(work):
    """What `work(model, feeds)` gives, put aside below the cache by the contents of both: it does not depend on relayout."""

    def look_up(model, feeds):
        contents = model if isinstance(model, bytes) else pathlib.Path(model).read_bytes()
        if b"external.data" in contents:
            return work(model, feeds)
        digest = hashlib.sha256(onnxruntime.__version__.encode() + contents)
        for value in [value for feed in feeds for value in feed.values()]:
            digest.update(value.tobytes())
        file = KEPT / (digest.hexdigest() + ".pickle")
        if file.exists():
            return pickle.loads(file.read_bytes())
        found = work(model, feeds)
        KEPT.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(found))
        os.replace(part, file)
        return found

    return look_up


@kept
def answers(model, feeds):
    """The outputs of each sample, products of integers without saturation. Inputs go by position and are cast: other tools rename them and change their types."""
    runner = session(in_reals(model) or model)
    places = runner.get_inputs()
    return [[numpy.asarray(out) for out in runner.run(None, {place.name: value.astype(TYPES.get(place.type, value.dtype))
                                                             for place, value in zip(places, feed.values())})] for feed in feeds]


@dataclass
class Distance:
    """`error`: the largest, of the range of what is right, in the worst output and sample; `snr` in dB over all samples."""

    error: float
    snr: float
    top1: float


def decibels(signal: float, noise: float) -> float:
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal > 0 and math.isfinite(noise) else -math.inf


def distance(right, other) -> Distance:
    """Between answers of two models."""
    error, snr, equal, count = 0.0, math.inf, 0, 0
    for index, outputs in enumerate(zip(*right)):  # each output over all samples
        signal = noise = 0.0
        for sample, a in enumerate(outputs):
            b = other[sample][index]
            if a.shape != b.shape:
                return Distance(math.inf, -math.inf, 0)
            a, b = a.astype(numpy.float64), b.astype(numpy.float64)
            reach = a.max() - a.min() if a.size else 0.0
            largest = numpy.abs(a - b).max() if a.size else 0.0
            error = max(error, largest / reach if reach > 0 else largest) if math.isfinite(largest) else math.inf
            signal, noise = signal + float((a * a).sum()), noise + float(((a - b) ** 2).sum())
            equal, count = equal + int((a.argmax(-1) == b.argmax(-1)).sum()), count + a.argmax(-1).size
        snr = min(snr, decibels(signal, noise))
    return Distance(float(error), snr, equal / max(count, 1))


def moved(model: onnx.ModelProto, seed: int) -> bytes:
    """The model with every f32 weight moved by one ULP up or down; not the few numbers that sizes are made of."""
    random, out = numpy.random.default_rng(seed), onnx.ModelProto()
    out.CopyFrom(model)
    for tensor in out.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and math.prod(tensor.dims) > 8:
            value = onnx.numpy_helper.to_array(tensor)
            target = numpy.where(random.random(value.shape) < 0.5, -numpy.inf, numpy.inf).astype(numpy.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(numpy.nextafter(value, target), tensor.name))
    return out.SerializeToString()


def floor(file: pathlib.Path, feeds) -> float:
    """How far correct evaluations lie apart."""
    model, right = onnx.load(file), answers(file, feeds)
    return max(distance(right, answers(moved(model, seed), feeds)).error for seed in range(DRAWS))


HALF, FULL = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT


def widened(tensor: onnx.TensorProto) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(numpy.float32), tensor.name)


def rounded(file: pathlib.Path) -> bytes:
    """A model of f16 in f32, with each result rounded to f16: ONNX Runtime keeps f32 between nodes for which it has no f16 kernel."""
    model = onnx.shape_inference.infer_shapes(onnx.load(file))
    half = {info.name for info in [*model.graph.value_info, *model.graph.output] if info.type.tensor_type.elem_type == HALF}
    nodes = []
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == HALF:
                attribute.t.CopyFrom(widened(attribute.t))
        if node.op_type == "Cast" and node.attribute[0].i == HALF:
            node.attribute[0].i = FULL
        nodes.append(node)
        for i, name in enumerate(node.output):
            if name in half:
                node.output[i] = name + "/exact"
                nodes.append(onnx.helper.make_node("Cast", [name + "/exact"], [name + "/half"], to=HALF))
                nodes.append(onnx.helper.make_node("Cast", [name + "/half"], [name], to=FULL))
    tensors = [widened(tensor) if tensor.data_type == HALF else tensor for tensor in model.graph.initializer]
    for info in [*model.graph.input, *model.graph.output]:
        if info.type.tensor_type.elem_type == HALF:
            info.type.tensor_type.elem_type = FULL
    graph = onnx.helper.make_graph(nodes, "rounded", model.graph.input, model.graph.output, tensors)
    return onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version).SerializeToString()
