"""Makes sets of models by kind for `bench network`: transformers, recurrent ones, 8 bits in three forms, 16 bits.

  PYTHON tests/peers/kinds.py --program build/release/relayout [KIND…]
  RELAYOUT_MODELS=~/.cache/relayout/peers/kinds RELAYOUT_PYTHON=PYTHON cmake/dev bench network

Files that are there stay. resnet18 and mobilenet_v2 are those of RELAYOUT_MODELS; 8 bits are by ONNX Runtime's quantizers, 16 by relayout.
PYTHON has numpy, onnx and onnxruntime."""
import argparse
import os
import pathlib
import subprocess
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "relayout"
IMAGES = ("resnet18", "mobilenet_v2")


class Net:
    """A graph that grows node by node, with random weights as wide as their depth asks."""

    def __init__(self, dims):
        self.random, self.nodes, self.weights = numpy.random.default_rng(5), [], []
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]

    def weight(self, *dims, scale=None):
        return self.constant((self.random.standard_normal(dims) * (scale or dims[-2] ** -0.5)).astype(numpy.float32))

    def constant(self, array):
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op_type, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, f"{op_type}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, [helper.make_empty_tensor_value_info(one) for one in outputs], self.weights)

    def model(self, output, dims):
        made = [helper.make_tensor_value_info(output, TensorProto.FLOAT, dims)]
        graph = helper.make_graph(self.nodes, "net", self.inputs, made, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def encoder(width, heads, layers, tokens):
    """As BERT has them: GELU written out, one mask less."""
    net = Net([1, tokens, width])

    def dense(x, rows, columns):
        return net.add("Add", net.add("MatMul", x, net.weight(rows, columns)), net.weight(1, columns, scale=0.1))

    def split(x, order):
        cut = net.add("Reshape", dense(x, width, width), net.constant(numpy.array([0, 0, heads, width // heads])))
        return net.add("Transpose", cut, perm=order)

    def norm(x):
        return net.add("LayerNormalization", x, net.constant(numpy.ones(width, numpy.float32)), net.weight(1, width, scale=0.1), axis=-1)

    def number(value):
        return net.constant(numpy.float32(value))

    x = "x"
    for _ in range(layers):
        scores = net.add("MatMul", split(x, [0, 2, 1, 3]), split(x, [0, 2, 3, 1]))
        shares = net.add("Softmax", net.add("Div", scores, number((width / heads) ** 0.5)), axis=-1)
        mixed = net.add("Transpose", net.add("MatMul", shares, split(x, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = norm(net.add("Add", x, dense(net.add("Reshape", mixed, net.constant(numpy.array([0, 0, width]))), width, width)))
        inner = dense(x, width, 4 * width)
        gate = net.add("Add", net.add("Erf", net.add("Div", inner, number(2 ** 0.5))), number(1))
        x = norm(net.add("Add", x, dense(net.add("Mul", net.add("Mul", inner, gate), number(0.5)), 4 * width, width)))
    return net.model(x, [1, tokens, width])


def recurrent(op_type, gates, inner, hidden=128, steps=100):
    """Two layers, one of them of both directions."""
    net = Net([steps, 1, inner])
    x = "x"
    for depth, directions in ((inner, 2), (2 * hidden, 1)):
        weights = [net.weight(directions, gates * hidden, size, scale=size ** -0.5) for size in (depth, hidden)]
        y = net.add(op_type, x, *weights, net.weight(directions, 2 * gates * hidden, scale=0.1), hidden_size=hidden,
                    direction="bidirectional" if directions == 2 else "forward")
        order = net.add("Transpose", y, perm=[0, 2, 1, 3])
        x = net.add("Reshape", order, net.constant(numpy.array([0, 0, directions * hidden])))
    return net.model(x, [steps, 1, hidden])


def cell(net, x, h, c, inner, hidden):
    """An LSTM's step in plain nodes, as Keras' exports have it."""
    sums = net.add("Add", net.add("MatMul", x, net.weight(inner, 4 * hidden)), net.add("MatMul", h, net.weight(hidden, 4 * hidden)))
    parts = net.add("Split", net.add("Add", sums, net.weight(1, 4 * hidden, scale=0.1)), outputs=4, axis=-1)
    gates = [net.add("Sigmoid", part) for part in parts[:3]] + [net.add("Tanh", parts[3])]
    state = net.add("Add", net.add("Mul", gates[0], gates[3]), net.add("Mul", gates[1], c))
    return net.add("Mul", gates[2], net.add("Tanh", state)), state


def stepwise(op_type, inner=64, hidden=128, steps=100):
    """The same step in the body of a Loop or a Scan."""
    net, body = Net([steps, 1, inner]), Net([])
    zeros = net.constant(numpy.zeros((1, hidden), numpy.float32))
    names = ("step", "go", "h", "c") if op_type == "Loop" else ("h", "c", "part")
    x = body.add("Gather", "x", "step", axis=0) if op_type == "Loop" else "part"
    h, c = cell(body, x, "h", "c", inner, hidden)
    y = body.add("Identity", h)
    types = {"step": TensorProto.INT64, "go": TensorProto.BOOL}
    dims = {"step": [], "go": [], "part": [1, inner]}
    inputs = [helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), dims.get(name, [1, hidden])) for name in names]
    results = [body.add("Identity", "go"), h, c, y] if op_type == "Loop" else [h, c, y]
    graph = helper.make_graph(body.nodes, "body", inputs, [
        helper.make_tensor_value_info(name, TensorProto.BOOL if name == results[0] and op_type == "Loop" else TensorProto.FLOAT,
                                      [] if name == results[0] and op_type == "Loop" else [1, hidden]) for name in results], body.weights)
    for tensor in graph.initializer:
        renamed = "body_" + tensor.name
        for node in graph.node:
            node.input[:] = [renamed if name == tensor.name else name for name in node.input]
        tensor.name = renamed
    if op_type == "Loop":
        given = [net.constant(numpy.int64(steps)), net.constant(numpy.bool_(True)), zeros, zeros]
        made = net.add("Loop", *given, outputs=3, body=graph)
    else:
        made = net.add("Scan", zeros, zeros, "x", outputs=3, body=graph, num_scan_inputs=1)
    return net.model(made[2], [steps, 1, hidden])


# --- kinds: the models of each by name, as functions from the file to be written ----------------------------------------------------


def written(make, *arguments):
    return lambda out, options: onnx.save(make(*arguments), str(out))


TRANSFORMERS = {"encoder": written(encoder, 256, 4, 4, 64), "encoder_wide": written(encoder, 768, 12, 2, 128),
                "encoder_tiny": written(encoder, 32, 2, 1, 8)}
RECURRENT = {"lstm": written(recurrent, "LSTM", 4, 64), "gru": written(recurrent, "GRU", 3, 64), "rnn": written(recurrent, "RNN", 1, 64),
             "lstm_loop": written(stepwise, "Loop"), "lstm_scan": written(stepwise, "Scan")}


def plain(name, options) -> pathlib.Path:
    """The file of 32 bits."""
    if name in IMAGES:
        return options.models / name / "model.onnx"
    return made("transformers" if name in TRANSFORMERS else "recurrent", name, options)


class Samples(quantization.CalibrationDataReader):
    def __init__(self, file):
        first = onnx.load(file, load_external_data=False).graph.input[0]
        dims, random = [one.dim_value or 1 for one in first.type.tensor_type.shape.dim], numpy.random.default_rng(3)
        self.feeds = iter([{first.name: random.standard_normal(dims).astype(numpy.float32)} for _ in range(4)])

    def get_next(self):
        return next(self.feeds, None)


def static(name, form):
    def make(out, options):
        with tempfile.TemporaryDirectory() as folder:
            prepared = pathlib.Path(folder) / "prepared.onnx"
            quantization.shape_inference.quant_pre_process(str(plain(name, options)), str(prepared), skip_symbolic_shape=True)
            quantization.quantize_static(str(prepared), str(out), Samples(prepared), quant_format=getattr(quantization.QuantFormat, form),
                                         activation_type=quantization.QuantType.QUInt8 if form == "QOperator" else quantization.QuantType.QInt8)

    return make


def dynamic(name):
    return lambda out, options: quantization.quantize_dynamic(str(plain(name, options)), str(out))


def half(name):
    def make(out, options):
        command = [options.program, "convert", plain(name, options), "--precision", "fp16", "--layout", "keep", "-o", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return make


KINDS = {"transformers": TRANSFORMERS, "recurrent": RECURRENT,
         "int8_qdq": {name: static(name, "QDQ") for name in (*IMAGES, "encoder")},
         "int8_qoperator": {name: static(name, "QOperator") for name in (*IMAGES, "encoder")},
         "int8_dynamic": {name: dynamic(name) for name in (*IMAGES, "encoder", "encoder_wide", "lstm")},
         "fp16": {name: half(name) for name in (*IMAGES, "encoder", "lstm", "gru")}}


def made(kind, name, options) -> pathlib.Path:
    """The file, written whole or not at all."""
    out = CACHE / "peers/kinds" / kind / name / "model.onnx"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        part = out.with_name("part.onnx")
        KINDS[kind][name](part, options)
        os.replace(part, out)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="relayout")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path(os.environ.get("RELAYOUT_MODELS") or CACHE / "models"))
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {' '.join(KINDS)}")
    options = parser.parse_args()
    for kind in options.kinds or KINDS:
        for name in KINDS[kind]:
            print(made(kind, name, options))


main()
