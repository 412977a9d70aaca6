"""Faults that change what a model computes: those of peers, and others beside the conditions of passes and doubts. One line for each kind at the end."""

import numpy
import onnx
from onnx import TensorProto, helper
from work import Work  # isort: skip (finds peers)
import faults
import operator_faults
from faults import Fault

FLOAT = TensorProto.FLOAT


def altered(w, edge, value):
    """A node reads another constant: its own."""
    return w.between(edge, w.c(value, w.get(edge[0]).dtype)) and [edge[1]]


def constants(w, kinds, test=lambda value: True, place=None):
    """Edges from constants into nodes of these kinds."""
    kinds = kinds.split()
    return [
        (name, node, i)
        for node in w.nodes
        for i, name in enumerate(node.input)
        if node.op_type in kinds and name in w.constants and place in (None, i) and test(w.get(name))
    ]


def one_of(w, found):
    return w.dice.choice(found) if found else None


def constant_changed(kinds, change, test=lambda value: True, place=None):
    def plant(w, dice):
        edge = one_of(w, constants(w, kinds, test, place))
        return altered(w, edge, change(w.get(edge[0]), dice)) if edge else None

    return plant


def attribute_set(kinds, name, change, default=None):
    """`change` gives None where it has nothing else."""

    def plant(w, dice):
        found = [node for node in w.nodes if node.op_type in kinds.split() and change(w.value(node, name, default)) is not None]
        if found:
            node = dice.choice(found)
            operator_faults.set_attribute(w, node, name, change(w.value(node, name, default)))
            return [node]

    return plant


def kind_changed(table):
    return operator_faults.op_replaced(table)


def inserted(make, test=None):
    """A node more, on an edge."""

    def plant(w, dice):
        edge = w.edge(test and (lambda name: test(w, name)) or w.is_float)
        if edge and edge[1].op_type not in ("Shape", "Size", "Identity"):
            result = make(w, edge[0])
            near = {name for node in w.pending for name in (node.name, *node.output)} | {edge[0], edge[1].name, *edge[1].output}
            maker = w.maker(edge[0])
            near |= {maker.name, *maker.output} if maker is not None else set()
            w.between(edge, result)
            return near

    return plant


def is_small(value):
    return value.dtype == numpy.float32 and value.size == 1 and 0 < abs(value.reshape(-1)[0]) <= 2e-3


def guard_dropped(w, dice):
    edge = one_of(w, constants(w, "Add Max Clip", is_small))
    if edge and edge[1].op_type in ("Add", "Max"):
        other = next(name for name in edge[1].input if name != edge[0])
        names = w.region(edge[1], *w.readers(edge[1].output[0]))
        edge[1].op_type = "Identity"
        del edge[1].input[:]
        edge[1].input.append(other)
        return names
    if edge:
        return altered(w, edge, numpy.float32(-1e30))


def rewired(w, dice):
    """A node reads another value of the same type and dims."""
    by_kind, makers = {}, {name: i for i, node in enumerate(w.nodes) for name in node.output}
    for name in w.facts:
        if w.arrays(name) and w.dtype(name) == numpy.float32:
            by_kind.setdefault(tuple(tuple(array.shape) for array in w.arrays(name)), []).append(name)
    found = []
    for i, node in enumerate(w.nodes):
        for place, name in enumerate(node.input):
            if w.arrays(name) and name in w.facts:
                found += [
                    (node, place, other)
                    for other in by_kind.get(tuple(tuple(array.shape) for array in w.arrays(name)), ())
                    if other != name and makers.get(other, -1) < i
                ]
    if found:
        node, place, other = dice.choice(found)
        node.input[place] = other
        return [node]


def shared_changed(w, dice):
    """A constant that several nodes read is another one for one of them."""
    found = [edge for edge in constants(w, "Conv Gemm MatMul Mul Add Div Gather") if len(w.readers(edge[0])) > 1]
    edge = one_of(w, found)
    if edge and w.get(edge[0]).dtype.kind == "f":
        return altered(w, edge, w.get(edge[0]) * 1.5 + 0.1)


def reshape_moved(w, dice):
    """A target that fits the sizes of one sample, or other dims."""
    found = [edge for edge in constants(w, "Reshape", lambda value: value.size > 1, 1)]
    edge = one_of(w, found)
    if edge:
        target, dims = w.get(edge[0]).copy(), w.arrays(edge[1].output[0])[0].shape
        if dice.random() < 0.5 and -1 in target and len(dims) == target.size:
            at = list(target).index(-1)
            target[at] = dims[at]
            other = dice.choice([i for i in range(target.size) if i != at])
            target[other] = -1
        else:
            i, j = dice.sample(range(target.size), 2)
            target[i], target[j] = target[j], target[i]
        return altered(w, edge, target)


def graphs_in(w, kind):
    return [(node, attribute.g) for node in w.nodes if node.op_type == kind for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]


def inner_kind(kind):
    """Another operator inside."""
    others = {"Mul": "Add", "Add": "Mul", "Tanh": "Sigmoid", "Neg": "Abs", "Identity": "Relu", "Less": "Greater"}

    def plant(w, dice):
        found = [
            (node, inside)
            for node, graph in graphs_in(w, kind)
            for inside in graph.node
            if inside.op_type in others and inside.input[0] and not inside.output[0].startswith("b")
        ]
        if found:
            node, inside = dice.choice(found)
            inside.op_type = others[inside.op_type]
            return w.region(node) | {inside.name, *inside.output}

    return plant


def branches_exchanged(w, dice):
    node = one_of(w, [node for node in w.nodes if node.op_type == "If"])
    if node:
        one, other = w.attribute(node, "then_branch"), w.attribute(node, "else_branch")
        one.name, other.name = "else_branch", "then_branch"
        return w.region(node) | {name for _, graph in graphs_in(w, "If") for inside in graph.node for name in (inside.name, *inside.output)}


def inner_limit(w, dice):
    """A limit more in a graph or function inside, in front of a node there."""
    graphs = [(node, graph.node) for kind in ("If", "Loop", "Scan") for node, graph in graphs_in(w, kind)]
    graphs += [(node, function.node) for function in w.model.functions for node in w.nodes if node.op_type == function.name]
    found = [
        (node, nodes, i) for node, nodes in graphs for i, inside in enumerate(nodes) if inside.op_type in ("Mul", "Add", "Tanh", "Neg", "Identity", "Sigmoid")
    ]
    found = [
        (node, nodes, i)
        for node, nodes, i in found
        if nodes[i].input[0] in w.facts and w.is_float(nodes[i].input[0]) or nodes[i].op_type in ("Tanh", "Mul", "Sigmoid")
    ]
    if found:
        node, nodes, i = dice.choice(found)
        kind, name = dice.choice(["Relu", "Abs", "Softsign"]), w.name()
        limit = helper.make_node(kind, [nodes[i].input[0]], [name], name=w.name("limit/"))
        names = w.region(node) | {limit.name, name, nodes[i].name, *nodes[i].output}
        nodes[i].input[0] = name
        every = list(nodes)
        del nodes[:]
        nodes.extend([*every[:i], limit, *every[i:]])
        return names


def epsilon_outside(w, dice):
    """√v + ε for √(v + ε)."""
    found = [
        (node, maker)
        for node in w.nodes
        if node.op_type == "Sqrt"
        and (maker := w.maker(node.input[0])) is not None
        and maker.op_type == "Add"
        and maker.input[1] in w.constants
        and is_small(w.get(maker.input[1]))
    ]
    if found:
        node, maker = dice.choice(found)
        w.instead(node, w.op("Add", w.op("Sqrt", maker.input[0]), maker.input[1]))
        return w.region(node) | {maker.name, *maker.output, *node.output} | {one.name for one in w.readers(node.output[0])}


def rounded_up(w, dice):
    """⌊x + ½⌋ for the even neighbour."""
    found = [node for node in w.nodes if node.op_type == "Round"]
    if found:
        node = dice.choice(found)
        w.instead(node, w.op("Floor", w.op("Add", node.input[0], w.c(0.5))))
        return [w.maker(node.output[0])]


def squeezed_all(w, dice):
    """Squeeze of every dim of 1, whichever are 1."""
    found = [node for node in w.nodes if node.op_type == "Squeeze" and (len(node.input) > 1 or node.attribute)]
    if found:
        node = dice.choice(found)
        del node.input[1:], node.attribute[:]
        return [node]


def function_changed(w, dice):
    others = {"Mul": "Add", "Add": "Sub", "Tanh": "Sigmoid", "Sigmoid": "Tanh", "Relu": "Neg", "Neg": "Relu", "Identity": "Neg"}
    found = [(function, inside) for function in w.model.functions for inside in function.node if inside.op_type in others]
    if found:
        function, inside = dice.choice(found)
        inside.op_type = others[inside.op_type]
        return {name for node in w.nodes if node.op_type == function.name for name in (node.name, *node.output)} | {inside.name, *inside.output}


def outputs_exchanged(w, dice):
    """Two results of the same type and dims."""
    outs = [(node, i) for node in w.nodes for i, name in enumerate(node.output) if name in w.outputs and w.arrays(name)]
    kinds = [
        (first, second)
        for first in outs
        for second in outs
        if first != second
        and all(x.shape == y.shape and x.dtype == y.dtype for x, y in zip(w.arrays(first[0].output[first[1]]), w.arrays(second[0].output[second[1]])))
    ]
    kinds = [(a, b) for a, b in kinds if not w.readers(a[0].output[a[1]]) and not w.readers(b[0].output[b[1]])]
    if kinds:
        (a, i), (b, j) = dice.choice(kinds)
        a.output[i], b.output[j] = b.output[j], a.output[i]
        return [a, b]


def rarely_other(w, name):
    """Another branch where a number is large."""

    def branch(kind):
        result = w.name("b")
        return helper.make_graph([helper.make_node(kind, [name], [result])], w.name("g"), [], [helper.make_tensor_value_info(result, FLOAT, None)])

    c = w.op("Greater", w.op("ReduceMax", name, keepdims=0), w.c(w.dice.choice([8.0, 15.0])))
    return w.op("If", c, then_branch=branch("Neg"), else_branch=branch("Identity"))


def is_integer(w, name):
    return w.dtype(name) == numpy.int64 and w.rank(name) >= 1 and w.arrays(name)[0].size > 1


def one_element(value, dice):
    value = value.copy()
    flat = value.reshape(-1)
    i = dice.randrange(flat.size)
    flat[i] = -4 * flat[i] if abs(flat[i]) > 1e-3 else 0.5
    return value


def is_float_constant(value):
    return value.dtype == numpy.float32 and value.size >= 1


def number(value):
    return value.dtype == numpy.float32 and value.size == 1 and not is_small(value)


def integer(value):
    return value.dtype == numpy.int64 and value.size == 1


OWN = (
    Fault("guard dropped", guard_dropped),
    Fault("guard × 1000", constant_changed("Add Max Clip", lambda value, dice: value * 1000, is_small)),
    Fault("guard / 1e6", constant_changed("Add Max Clip", lambda value, dice: value / 1e6, is_small)),
    Fault(
        "epsilon × 100",
        attribute_set(
            "BatchNormalization LayerNormalization InstanceNormalization GroupNormalization SkipLayerNormalization", "epsilon", lambda v: v * 100, 1e-5
        ),
    ),
    Fault("rewired", rewired),
    Fault("shared constant", shared_changed),
    Fault("Reshape target", reshape_moved),
    Fault("outputs exchanged", outputs_exchanged),
    Fault("If exchanged", branches_exchanged),
    Fault("within If", inner_kind("If")),
    Fault("within Loop", inner_kind("Loop")),
    Fault("within Scan", inner_kind("Scan")),
    Fault("Loop count", constant_changed("Loop", lambda value, dice: value + 1, integer, 0)),
    Fault("function changed", function_changed),
    Fault("compared number", constant_changed("Less Greater LessOrEqual GreaterOrEqual", lambda value, dice: value + 0.25, number)),
    Fault("compared integer", constant_changed("Less Greater Equal LessOrEqual GreaterOrEqual", lambda value, dice: value + 1, integer)),
    Fault("comparison strict", kind_changed({"Less": "LessOrEqual", "LessOrEqual": "Less", "Greater": "GreaterOrEqual", "GreaterOrEqual": "Greater"})),
    Fault("integer operand", constant_changed("Add Mul Sub Div Mod", lambda value, dice: value + 1, integer)),
    Fault(
        "keepdims",
        attribute_set(
            "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL2 ReduceL1 ReduceSumSquare ReduceLogSumExp ArgMax ArgMin", "keepdims", lambda v: 1 - v, 1
        ),
    ),
    Fault(
        "reduction replaced",
        kind_changed(
            {
                "ReduceSum": "ReduceMean",
                "ReduceMean": "ReduceSum",
                "ReduceL2": "ReduceSumSquare",
                "ReduceMax": "ReduceMin",
                "ReduceLogSumExp": "ReduceMax",
                "ReduceL1": "ReduceSum",
            }
        ),
    ),
    Fault("ArgMax last", attribute_set("ArgMax ArgMin", "select_last_index", lambda v: 1 - v, 0)),
    Fault("ArgMin", kind_changed({"ArgMax": "ArgMin", "ArgMin": "ArgMax"})),
    Fault("TopK smallest", attribute_set("TopK", "largest", lambda v: 1 - v, 1)),
    Fault("Softmax axis", attribute_set("Softmax LogSoftmax", "axis", lambda v: 0 if v in (-1, 1) else None, -1)),
    Fault("Softmax replaced", kind_changed({"Softmax": "LogSoftmax", "LogSoftmax": "Softmax"})),
    Fault("CumSum exclusive", attribute_set("CumSum", "exclusive", lambda v: 1 - v, 0)),
    Fault("CumSum reverse", attribute_set("CumSum", "reverse", lambda v: 1 - v, 0)),
    Fault("Trilu side", attribute_set("Trilu", "upper", lambda v: 1 - v, 1)),
    Fault("Trilu diagonal", constant_changed("Trilu", lambda value, dice: value + 1)),
    Fault("DepthToSpace mode", attribute_set("DepthToSpace", "mode", lambda v: "CRD" if v == b"DCR" else "DCR", b"DCR")),
    Fault("pool padded value", constant_changed("Pad", lambda value, dice: value + 1, lambda value: value.dtype == numpy.float32)),
    Fault(
        "auto_pad",
        attribute_set("Conv MaxPool AveragePool QLinearConv", "auto_pad", lambda v: {b"SAME_UPPER": "SAME_LOWER", b"SAME_LOWER": "SAME_UPPER"}.get(v)),
    ),
    Fault(
        "Resize nearest",
        attribute_set(
            "Resize", "nearest_mode", lambda v: {b"floor": "ceil", b"ceil": "floor", b"round_prefer_floor": "ceil", b"round_prefer_ceil": "floor"}.get(v)
        ),
    ),
    Fault(
        "Resize coordinates",
        attribute_set(
            "Resize",
            "coordinate_transformation_mode",
            lambda v: {b"half_pixel": "asymmetric", b"pytorch_half_pixel": "asymmetric", b"asymmetric": "half_pixel", b"align_corners": "half_pixel"}.get(v),
        ),
    ),
    Fault(
        "Resize half_pixel",
        attribute_set("Resize", "coordinate_transformation_mode", lambda v: {b"half_pixel": "pytorch_half_pixel", b"pytorch_half_pixel": "half_pixel"}.get(v)),
    ),
    Fault("Resize mode", attribute_set("Resize", "mode", lambda v: {b"linear": "cubic", b"cubic": "linear", b"nearest": "linear"}.get(v), b"nearest")),
    Fault("Resize cubic_coeff_a", attribute_set("Resize", "cubic_coeff_a", lambda v: -0.5 if v == -0.75 else None, -0.75)),
    Fault("Slice shorter", constant_changed("Slice", lambda value, dice: value - 1, lambda value: value.size == 1 and 1 < value.reshape(-1)[0] < 1000, 2)),
    Fault("Slice start", constant_changed("Slice", lambda value, dice: value + 1, lambda value: value.size == 1, 1)),
    Fault("Slice end", constant_changed("Slice", lambda value, dice: value * 0 + 5, lambda value: value.size == 1 and value.reshape(-1)[0] > 100, 2)),
    Fault("Gather index + 1", constant_changed("Gather", lambda value, dice: numpy.where(value == 0, 1, 0), lambda value: value.dtype == numpy.int64, 1)),
    Fault("Gather axis", attribute_set("Gather Concat", "axis", lambda v: v - 1 if v > 0 else None, 0)),
    Fault("Where number", constant_changed("Where", lambda value, dice: value + 1, number)),
    Fault("OneHot values", constant_changed("OneHot", lambda value, dice: value[::-1], lambda value: value.size == 2)),
    Fault("Range start", constant_changed("Range", lambda value, dice: value + 1, integer, 0)),
    Fault("Cast to integers", attribute_set("Cast", "to", lambda v: {TensorProto.INT64: TensorProto.UINT8}.get(v))),
    Fault("perm reversed", attribute_set("Transpose", "perm", lambda v: v[::-1] if v else None)),
    Fault("linear_before_reset", attribute_set("GRU", "linear_before_reset", lambda v: 1 - v, 0)),
    Fault("recurrent clip", attribute_set("LSTM GRU RNN", "clip", lambda v: 0.3, 0)),
    Fault("num_groups", attribute_set("GroupNormalization", "num_groups", lambda v: 4 if v == 2 else 2)),
    Fault("LRN size", attribute_set("LRN", "size", lambda v: v + 2)),
    Fault("LeakyRelu alpha", attribute_set("LeakyRelu Elu Celu ThresholdedRelu", "alpha", lambda v: v + 0.3, 1.0)),
    Fault("Gelu approximate", attribute_set("Gelu", "approximate", lambda v: "tanh" if v == b"none" else "none", b"none")),
    Fault(
        "activation exchanged",
        kind_changed(
            {
                "Relu": "Elu",
                "Sigmoid": "HardSigmoid",
                "Softplus": "Relu",
                "Softsign": "Tanh",
                "Selu": "Elu",
                "Mish": "HardSwish",
                "HardSwish": "Mish",
                "Floor": "Round",
                "Round": "Floor",
                "Ceil": "Round",
                "Sign": "Tanh",
                "Abs": "Relu",
                "Erf": "Tanh",
            }
        ),
    ),
    Fault("transA", attribute_set("Gemm", "transB", lambda v: 1 - v, 0)),
    Fault("alpha", attribute_set("Gemm FusedMatMul", "alpha", lambda v: v * 1.5, 1.0)),
    Fault("beta", attribute_set("Gemm", "beta", lambda v: v * 1.5, 1.0)),
    Fault(
        "one element × −4",
        constant_changed("Conv Gemm MatMul Mul Add ConvTranspose Gather Einsum", lambda value, dice: one_element(value, dice), is_float_constant),
    ),
    Fault("constant negated", constant_changed("Mul Add Sub Div Max Min Pow", lambda value, dice: -value, lambda value: value.dtype == numpy.float32)),
    Fault("constant × 1.01", constant_changed("Mul Div Conv MatMul Gemm", lambda value, dice: value * 1.01, is_float_constant)),
    Fault(
        "constant of f16",
        constant_changed("Mul Conv MatMul Gemm ConvTranspose", lambda value, dice: numpy.clip(value, -60000, 60000).astype(numpy.float16), is_float_constant),
    ),
    Fault("mean moved", constant_changed("BatchNormalization", lambda value, dice: value + 0.1, place=3)),
    Fault("variance × 1.1", constant_changed("BatchNormalization", lambda value, dice: value * 1.1, place=4)),
    Fault(
        "quantized zero",
        constant_changed(
            "QuantizeLinear DequantizeLinear QLinearConv",
            lambda value, dice: value + 3,
            lambda value: value.dtype in (numpy.uint8, numpy.int8) and value.size == 1,
        ),
    ),
    Fault("integer bias", constant_changed("QLinearConv", lambda value, dice: value + 200, place=8)),
    Fault("Relu inserted", inserted(lambda w, x: w.op("Relu", x))),
    Fault("Abs inserted", inserted(lambda w, x: w.op("Abs", x))),
    Fault("limit inserted", inserted(lambda w, x: w.op("Clip", x, w.c(-10.0), w.c(10.0)))),
    Fault("minimum inserted", inserted(lambda w, x: w.op("Min", x, w.c(w.dice.choice([1.0, 5.0, 12.0]))))),
    Fault("branch inserted", inserted(rarely_other)),
    Fault("f16 inserted", inserted(lambda w, x: w.op("Cast", w.op("Cast", x, to=TensorProto.FLOAT16), to=FLOAT))),
    Fault("1e-3 added", inserted(lambda w, x: w.op("Add", x, w.c(1e-3)))),
    Fault("× 1.001", inserted(lambda w, x: w.op("Mul", x, w.c(1.001)))),
    Fault("square for Abs", inserted(lambda w, x: w.op("Mul", x, x))),
    Fault("rounded", inserted(lambda w, x: w.op("Div", w.op("Round", w.op("Mul", x, w.c(64.0))), w.c(64.0)))),
    Fault("integer limited", inserted(lambda w, x: w.op("Where", w.op("Less", x, w.c(4, numpy.int64)), x, w.c(4, numpy.int64)), is_integer)),
    Fault("one integer mapped", inserted(lambda w, x: w.op("Where", w.op("Equal", x, w.c(3, numpy.int64)), w.c(2, numpy.int64), x), is_integer)),
    Fault("integer by float", inserted(lambda w, x: w.op("Cast", w.op("Cast", x, to=TensorProto.FLOAT16), to=TensorProto.INT64), is_integer)),
    Fault(
        "axes exchanged",
        inserted(
            lambda w, x: w.op("Transpose", x, perm=[*range(w.rank(x) - 2), w.rank(x) - 1, w.rank(x) - 2]),
            lambda w, x: w.is_float(x) and w.rank(x) >= 2 and None not in w.dims(x)[-2:] and w.dims(x)[-1] == w.dims(x)[-2] > 1,
        ),
    ),
    Fault(
        "reversed", inserted(lambda w, x: w.op("Slice", x, w.ints(-1), w.ints(-(2**62)), w.ints(-1), w.ints(-1)), lambda w, x: w.is_float(x) and w.rank(x) >= 1)
    ),
)
FAULTS = OWN + tuple(one for one in faults.FAULTS + operator_faults.FAULTS if one.name not in {own.name for own in OWN})


def plant(fault: Fault, model: onnx.ModelProto, feeds, dice) -> tuple[onnx.ModelProto, set[str]] | None:
    """The model with one fault at a place that the dice choose, and names of which any is right; None where it has no place."""
    work = Work(model, feeds, dice).learn()
    found = fault.plant(work, dice)
    if not found:
        return None
    names = found if isinstance(found, set) else work.region(*found, *work.sharers())
    return work.finished(), names
