"""Arithmetic of 8-bit integers in real numbers: on processors without VNNI, ONNX Runtime's kernels add pairs of products in 16 bits, which
saturate, and its Resize cuts off what ONNX's reference implementation rounds; what a file means does not depend on that."""
import numpy
import onnx
from onnx import helper, numpy_helper

# Inputs with the scales of the operand, the weight and the result.
PLACES = {"QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6), "QGemm": (1, 4, 7)}


class Rewriter:
    def __init__(self, model: onnx.ModelProto):
        self.graph, self.nodes = model.graph, []
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self.integers = dict(self.typed())

    def typed(self):
        """Values of 8 bits that quantizing operators make, with their types, which are those of their zero points."""
        for node in self.graph.node:
            place = {"QuantizeLinear": 2, "QLinearConv": 7, "QLinearMatMul": 7, "QLinearConcat": 1, "QLinearAdd": 7, "QLinearMul": 7}.get(node.op_type)
            if place is not None and place < len(node.input) and node.input[place] in self.constants:
                yield node.output[0], self.constants[node.input[place]].data_type

    def make(self, op_type: str, inputs, output: str, **attributes) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def array(self, name: str):
        return numpy_helper.to_array(self.constants[name])

    def constant(self, name: str, value) -> str:
        self.graph.initializer.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def bias(self, name: str, scale, prefix: str) -> str:
        """Steps of both scales together."""
        return self.constant(prefix + "/bias", (self.array(name).astype(numpy.float64) * scale).astype(numpy.float32))

    def spell_out(self, node: onnx.NodeProto):
        given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        x, w, y = PLACES[node.op_type]
        prefix, inputs = node.output[0] + "/reals", [*node.input, *[""] * 9]
        product = self.array(inputs[x]).astype(numpy.float64) * self.array(inputs[w]).astype(numpy.float64)
        last = node.op_type == "QLinearConv" and given.pop("channels_last", 0) == 1
        operand = self.make("DequantizeLinear", inputs[x - 1:x + 2], prefix + "/x")
        axis = 0 if node.op_type == "QLinearConv" or given.get("transB") else -1
        weight = self.make("DequantizeLinear", inputs[w - 1:w + 2], prefix + "/w", axis=axis)
        rank = len(self.constants[inputs[w - 1]].dims) if inputs[w - 1] in self.constants else 0
        if last:
            operand = self.make("Transpose", [operand], prefix + "/x/first", perm=[0, rank - 1, *range(1, rank - 1)])
        made = prefix + "/y"
        if node.op_type == "QLinearConv":
            bias = [self.bias(inputs[8], product, prefix)] if inputs[8] else []
            self.make("Conv", [operand, weight, *bias], made, **given)
        elif node.op_type == "QGemm":
            bias = [self.bias(inputs[6], product * given.get("alpha", 1.0), prefix)] if inputs[6] else []
            self.make("Gemm", [operand, weight, *bias], made, **given)
        else:
            self.make("MatMul", [operand, weight], made)
        if last:
            made = self.make("Transpose", [made], prefix + "/y/last", perm=[0, *range(2, rank), 1])
        self.make("QuantizeLinear", [made, *inputs[y:y + 2]], node.output[0]) if inputs[y] else self.make("Identity", [made], node.output[0])

    def resize(self, node: onnx.NodeProto):
        """Between the integers, by the mean of its neighbours, rounded."""
        given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        x, y = node.output[0] + "/reals/x", node.output[0] + "/reals/y"
        self.make("Cast", [node.input[0]], x, to=onnx.TensorProto.FLOAT)
        self.make("Resize", [x, *node.input[1:]], y, **given)
        self.make("Round", [y], y + "/rounded")
        self.make("Cast", [y + "/rounded"], node.output[0], to=self.integers[node.input[0]])

    def spelled_out(self, node: onnx.NodeProto):
        """How the node is written in real numbers, where it is."""
        x, w, _ = PLACES.get(node.op_type, (0, 0, 0))
        if x and all(node.input[place] in self.constants for place in (x, w)):
            return self.spell_out
        is_mean = any(one.name == "mode" and one.s == b"linear" for one in node.attribute)
        return self.resize if node.op_type == "Resize" and is_mean and node.input[0] in self.integers else None

    def run(self) -> bool:
        found = [node for node in self.graph.node if self.spelled_out(node)]
        for node in self.graph.node:
            (self.spelled_out(node) or self.nodes.append)(node)
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in self.nodes]
        del self.graph.node[:]
        self.graph.node.extend(kept)
        return bool(found)


def in_reals(model) -> bytes | None:
    """Of a file, or of a model's bytes, with its products of integers in real numbers; nothing where it has none."""
    loaded = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    return loaded.SerializeToString() if Rewriter(loaded).run() else None
