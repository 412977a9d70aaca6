"""Rules that keep what a model computes: each puts other nodes in the place of some, or between two, and says whether it found a place."""

import math

import drafts
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from work import Work

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def floats(w):
    return w.edge(w.is_float)


# --- between two nodes: what changes nothing --------------------------------------------------------------------------------------------


def transposed_twice(w):
    edge = w.edge(lambda name: w.dtype(name) in (numpy.float32, numpy.int64) and w.rank(name) >= 2)
    if edge:
        perm = list(range(w.rank(edge[0])))
        w.dice.shuffle(perm)
        return w.between(edge, w.op("Transpose", w.op("Transpose", edge[0], perm=perm), perm=[perm.index(i) for i in range(len(perm))]))


def reshaped_twice(w):
    edge = w.edge(lambda name: w.dtype(name) in (numpy.float32, numpy.int64) and w.rank(name) >= 1)
    if edge:
        return w.between(edge, w.op("Reshape", w.op("Reshape", edge[0], w.ints(-1)), w.op("Shape", edge[0])))


def squeezed(w):
    edge = w.edge(lambda name: w.rank(name) >= 0)
    if edge:
        axis = w.dice.randrange(w.rank(edge[0]) + 1)
        return w.between(edge, w.squeeze(w.unsqueeze(edge[0], axis), axis))


def negated_twice(w):
    edge = floats(w)
    if edge:
        return w.between(edge, w.op("Neg", w.op("Neg", edge[0])))


def scaled_back(w):
    """By powers of two: exact."""
    edge = floats(w)
    if edge:
        factor = w.dice.choice([2.0, 0.25, 8.0])
        return w.between(edge, w.op("Mul", w.op("Mul", edge[0], w.c(factor)), w.c(1 / factor)))


def identity(w):
    edge = w.edge()
    if edge:
        return w.between(edge, w.op("Identity", edge[0]))


def cast_wider(w):
    edge = floats(w)
    if edge:
        return w.between(edge, w.op("Cast", w.op("Cast", edge[0], to=TensorProto.DOUBLE), to=FLOAT))


def split_and_joined(w):
    edge = w.edge(lambda name: w.is_float(name) and w.rank(name) >= 1 and w.dims(name)[-1] and w.dims(name)[-1] >= 2 and is_fixed(w, name))
    if edge:
        size = w.dims(edge[0])[-1]
        first = w.dice.randrange(1, size)
        return w.between(edge, w.op("Concat", *w.split(edge[0], [first, size - first], -1), axis=-1))


def padded_and_cut(w):
    edge = w.edge(lambda name: w.is_float(name) and w.rank(name) >= 1)
    if edge:
        rank = w.rank(edge[0])
        p = w.op("Pad", edge[0], w.ints(*[0] * (rank - 1), 1, *[0] * (rank - 1), 2), w.c(w.dice.choice([0.0, 7.0])))
        return w.between(edge, w.op("Slice", p, w.ints(1), w.ints(-2), w.ints(-1)))


def sliced_whole(w):
    edge = w.edge(lambda name: w.rank(name) >= 1)
    if edge:
        return w.between(edge, w.op("Slice", edge[0], w.ints(0), w.ints(w.dice.choice([2**31 - 1, 2**63 - 1])), w.ints(w.dice.choice([0, -1])), w.ints(1)))


def reversed_twice(w):
    edge = w.edge(lambda name: w.is_float(name) and w.rank(name) >= 1)
    if edge:
        back = (w.ints(-1), w.ints(-(2**63) + 1), w.ints(-1), w.ints(-1))
        return w.between(edge, w.op("Slice", w.op("Slice", edge[0], *back), *back))


def chosen_always(w):
    edge = floats(w)
    if edge:
        return w.between(edge, w.op("Where", w.c(True, numpy.bool_), edge[0], w.c(w.dice.choice([0.0, 5.0]))))


def expanded(w):
    edge = floats(w)
    if edge:
        return w.between(edge, w.op("Expand", edge[0], w.op("Shape", edge[0])))


def larger_of_itself(w):
    edge = floats(w)
    if edge:
        return w.between(edge, w.op(w.dice.choice(["Max", "Min"]), edge[0], edge[0]))


def in_a_sequence(w):
    edge = floats(w)
    if edge:
        return w.between(edge, w.op("SequenceAt", w.op("SequenceConstruct", edge[0]), w.c(0, numpy.int64)))


def branch_taken(w):
    edge = floats(w)
    if edge:

        def branch(kind):
            name = w.name()
            return helper.make_graph([helper.make_node(kind, [edge[0]], [name])], w.name("g"), [], [helper.make_tensor_value_info(name, FLOAT, None)])

        return w.between(edge, w.op("If", w.c(True, numpy.bool_), then_branch=branch("Identity"), else_branch=branch("Neg")))


def in_a_loop(w):
    """Of one round."""
    edge = floats(w)
    if edge:
        count, go, state, stays, result = (w.name() for _ in range(5))
        nodes = [helper.make_node("Identity", [go], [stays]), helper.make_node("Identity", [state], [result])]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes,
            w.name("g"),
            [info(count, INT64, []), info(go, TensorProto.BOOL, []), info(state, FLOAT, None)],
            [info(stays, TensorProto.BOOL, []), info(result, FLOAT, None)],
        )
        return w.between(edge, w.op("Loop", w.c(1, numpy.int64), w.c(True, numpy.bool_), edge[0], body=graph))


def tiled_once(w):
    edge = w.edge(lambda name: w.is_float(name) and w.rank(name) >= 1)
    if edge:
        return w.between(edge, w.op("Tile", edge[0], w.ints(*[1] * w.rank(edge[0]))))


def depth_and_back(w):
    edge = w.edge(lambda name: w.is_float(name) and w.rank(name) == 4 and is_fixed(w, name) and w.dims(name)[1] % 4 == 0)
    if edge:
        return w.between(edge, w.op("SpaceToDepth", w.op("DepthToSpace", edge[0], blocksize=2, mode="DCR"), blocksize=2))


def unit_product(w):
    edge = w.edge(lambda name: w.is_float(name) and w.rank(name) >= 2 and w.dims(name)[-1] and w.dims(name)[-1] <= 32 and is_fixed(w, name))
    if edge:
        return w.between(edge, w.op("MatMul", edge[0], w.c(numpy.eye(w.dims(edge[0])[-1]))))


def gathered_in_order(w):
    edge = w.edge(lambda name: w.rank(name) >= 1 and w.dims(name)[-1] and is_fixed(w, name))
    if edge:
        return w.between(edge, w.op("Gather", edge[0], w.ints(*range(w.dims(edge[0])[-1])), axis=-1))


def is_fixed(w, name) -> bool:
    """The feeds have other sizes for every free dim: a dim that does not vary depends on none."""
    return None not in w.dims(name)


# --- one node: arithmetic -------------------------------------------------------------------------------------------------------------------


def subtracted_by_adding(w):
    node = w.node("Sub", lambda node: w.is_float(node.output[0]))
    if node:
        return w.instead(node, w.op("Add", node.input[0], w.op("Neg", node.input[1])))


def added_by_subtracting(w):
    node = w.node("Add", lambda node: w.is_float(node.output[0]))
    if node:
        return w.instead(node, w.op("Sub", node.input[0], w.op("Neg", node.input[1])))


def commuted(w):
    node = w.node("Add Mul Max Min And Or Equal Sum Mean", lambda node: len(node.input) == 2)
    if node:
        node.input[0], node.input[1] = node.input[1], node.input[0]
        return True


def divided_by_multiplying(w):
    node = w.node(
        "Div", lambda node: w.is_float(node.output[0]) and w.constant(node.input[1]) is not None and (numpy.abs(w.constant(node.input[1])) > 1e-3).all()
    )
    if node:
        return w.instead(node, w.op("Mul", node.input[0], w.c(1 / w.constant(node.input[1]).astype(numpy.float64))))


def multiplied_by_dividing(w):
    node = w.node(
        "Mul", lambda node: w.constant(node.input[1]) is not None and w.is_float(node.input[1]) and (numpy.abs(w.constant(node.input[1])) > 1e-3).all()
    )
    if node:
        return w.instead(node, w.op("Div", node.input[0], w.c(1 / w.constant(node.input[1]).astype(numpy.float64))))


def divided_by_reciprocal(w):
    node = w.node("Div", lambda node: w.is_float(node.output[0]))
    if node:
        return w.instead(node, w.op("Mul", node.input[0], w.op("Reciprocal", node.input[1])))


def reciprocal_by_dividing(w):
    node = w.node("Reciprocal")
    if node:
        return w.instead(node, w.op("Div", w.c(1.0), node.input[0]))


def constant_split(w):
    """x · c as (x · a) · b, x + c as (x + a) + b."""
    node = w.node("Mul Add", lambda node: w.constant(node.input[1]) is not None and w.is_float(node.input[1]))
    if node:
        value = w.constant(node.input[1]).astype(numpy.float64)
        part = w.dice.choice([2.0, 0.5, -1.0]) if node.op_type == "Mul" else w.dice.choice([0.5, 0.25])
        first, second = (value / part, numpy.full((), part)) if node.op_type == "Mul" else (value * part, value * (1 - part))
        return w.instead(node, w.op(node.op_type, w.op(node.op_type, node.input[0], w.c(first)), w.c(second)))


def distributed(w):
    """(a + b) · c as a · c + b · c."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return maker is not None and maker.op_type in ("Add", "Sub") and w.is_float(node.output[0])

    node = w.node("Mul", fitting)
    if node:
        maker = w.maker(node.input[0])
        return w.instead(node, w.op(maker.op_type, *(w.op("Mul", value, node.input[1]) for value in maker.input)))


def associated(w):
    """(a + b) + c as a + (b + c), products likewise."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return maker is not None and maker.op_type == node.op_type and w.is_float(node.output[0])

    node = w.node("Add Mul", fitting)
    if node:
        a, b = w.maker(node.input[0]).input
        return w.instead(node, w.op(node.op_type, a, w.op(node.op_type, b, node.input[1])))


def square_as_power(w):
    node = w.node("Mul", lambda node: node.input[0] == node.input[1] and w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.op("Pow", node.input[0], w.c(2.0)))


def power_as_product(w):
    node = w.node("Pow", lambda node: w.scalar(node.input[1]) in (2.0, 3.0) and w.is_float(node.input[0]) and w.rank(node.input[1]) <= w.rank(node.input[0]))
    if node:
        x, y = node.input[0], w.op("Mul", node.input[0], node.input[0])
        return w.instead(node, y if w.scalar(node.input[1]) == 2.0 else w.op("Mul", y, x))


def root_as_power(w):
    node = w.node("Sqrt", lambda node: w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.op("Pow", node.input[0], w.c(0.5)))


def sum_as_additions(w):
    node = w.node("Sum Max Min", lambda node: len(node.input) > 2)
    if node:
        kind = "Add" if node.op_type == "Sum" else node.op_type
        result = node.input[0]
        for value in node.input[1:]:
            result = w.op(kind, result, value)
        return w.instead(node, result)


def addition_as_sum(w):
    node = w.node("Add", lambda node: w.is_float(node.output[0]))
    if node:
        return w.instead(node, w.op("Sum", *node.input))


def minimum_by_maximum(w):
    node = w.node("Min Max", lambda node: w.is_float(node.output[0]) and len(node.input) == 2)
    if node:
        return w.instead(node, w.op("Neg", w.op("Max" if node.op_type == "Min" else "Min", *(w.op("Neg", value) for value in node.input))))


# --- one node: activations ------------------------------------------------------------------------------------------------------------------


def relu_by_maximum(w):
    node = w.node("Relu", lambda node: w.is_float(node.input[0]))
    if node:
        x = node.input[0]
        return w.instead(
            node,
            w.dice.choice(
                [
                    lambda: w.op("Max", x, w.c(0.0)),
                    lambda: w.op("Clip", x, w.c(0.0)),
                    lambda: w.op("LeakyRelu", x, alpha=0.0),
                    lambda: w.op("Where", w.op("Greater", x, w.c(0.0)), x, w.c(0.0)),
                ]
            )(),
        )


def clip_by_limits(w):
    node = w.node("Clip", lambda node: w.is_float(node.input[0]))
    if node:
        x, limits = node.input[0], [(kind, node.input[place]) for place, kind in ((1, "Max"), (2, "Min")) if place < len(node.input) and node.input[place]]
        for kind, value in limits:
            x = w.op(kind, x, value)
        return w.instead(node, x)


def limits_by_clip(w):
    node = w.node(
        "Max Min", lambda node: len(node.input) == 2 and w.scalar(node.input[1]) is not None and w.is_float(node.input[0]) and w.rank(node.input[1]) == 0
    )
    if node:
        limit = node.input[1]
        return w.instead(node, w.op("Clip", node.input[0], limit) if node.op_type == "Max" else w.op("Clip", node.input[0], None, limit))


def sigmoid_spelled(w):
    node = w.node("Sigmoid", lambda node: w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.op("Reciprocal", w.op("Add", w.op("Exp", w.op("Neg", node.input[0])), w.c(1.0))))


def leaky_relu_by_maximum(w):
    node = w.node("LeakyRelu", lambda node: 0 <= w.value(node, "alpha", 0.01) <= 1)
    if node:
        return w.instead(node, w.op("Max", node.input[0], w.op("Mul", node.input[0], w.c(w.value(node, "alpha", 0.01)))))


def prelu_spelled(w):
    node = w.node("PRelu")
    if node:
        x, slope = node.input
        return w.instead(node, w.op("Sub", w.op("Relu", x), w.op("Mul", slope, w.op("Relu", w.op("Neg", x)))))


def hard_sigmoid_spelled(w):
    node = w.node("HardSigmoid")
    if node:
        y = w.op("Add", w.op("Mul", node.input[0], w.c(w.value(node, "alpha", 0.2))), w.c(w.value(node, "beta", 0.5)))
        return w.instead(node, w.op("Clip", y, w.c(0.0), w.c(1.0)))


def hard_swish_spelled(w):
    node = w.node("HardSwish")
    if node:
        return w.instead(node, w.op("Mul", node.input[0], w.op("HardSigmoid", node.input[0], alpha=1 / 6, beta=0.5)))


def abs_by_maximum(w):
    node = w.node("Abs", lambda node: w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.op("Max", node.input[0], w.op("Neg", node.input[0])))


def softsign_spelled(w):
    node = w.node("Softsign")
    if node:
        return w.instead(node, w.op("Div", node.input[0], w.op("Add", w.op("Abs", node.input[0]), w.c(1.0))))


def mish_spelled(w):
    node = w.node("Mish")
    if node:
        return w.instead(node, w.op("Mul", node.input[0], w.op("Tanh", w.op("Softplus", node.input[0]))))


def thresholded_spelled(w):
    node = w.node("ThresholdedRelu")
    if node:
        return w.instead(node, w.op("Where", w.op("Greater", node.input[0], w.c(w.value(node, "alpha", 1.0))), node.input[0], w.c(0.0)))


def elu_spelled(w):
    node = w.node("Elu")
    if node:
        x = node.input[0]
        low = w.op("Mul", w.op("Sub", w.op("Exp", w.op("Min", x, w.c(0.0))), w.c(1.0)), w.c(w.value(node, "alpha", 1.0)))
        return w.instead(node, w.op("Where", w.op("Less", x, w.c(0.0)), low, x))


def gelu_spelled(w):
    node = w.node("Gelu", lambda node: w.value(node, "approximate", b"none") == b"none")
    if node:
        e = w.op("Add", w.op("Erf", w.op("Mul", node.input[0], w.c(math.sqrt(0.5)))), w.c(1.0))
        return w.instead(node, w.op("Mul", w.op("Mul", node.input[0], w.c(0.5)), e))


def softmax_spelled(w):
    node = w.node("Softmax", lambda node: w.is_float(node.input[0]) and (w.opset >= 13 or w.axis(node, 1) == w.rank(node.input[0]) - 1))
    if node:
        x, axes = node.input[0], [w.axis(node, -1)]
        largest = w.reduce("ReduceMax", x, axes)
        e = w.op("Exp", w.op("Sub", x, largest) if w.dice.random() < 0.6 else w.op("Add", x, w.op("Neg", largest)))
        return w.instead(node, w.op("Div", e, w.reduce("ReduceSum", e, axes)))


def log_softmax_spelled(w):
    node = w.node("LogSoftmax", lambda node: w.is_float(node.input[0]) and (w.opset >= 13 or w.axis(node, 1) == w.rank(node.input[0]) - 1))
    if node:
        x, axes = node.input[0], [w.axis(node, -1)]
        z = w.op("Sub", x, w.reduce("ReduceMax", x, axes))
        return w.instead(node, w.op("Sub", z, w.op("Log", w.reduce("ReduceSum", w.op("Exp", z), axes))))


# --- one node: normalizations and reductions --------------------------------------------------------------------------------------------


def layer_norm_spelled(w):
    node = w.node("LayerNormalization", lambda node: w.axis(node) == w.rank(node.input[0]) - 1 and len(node.output) == 1)
    if node:
        x = node.input[0]
        z = w.op("Sub", x, w.reduce("ReduceMean", x, [-1]))
        v = w.reduce("ReduceMean", w.op("Mul", z, z) if w.dice.random() < 0.5 else w.op("Pow", z, w.c(2.0)), [-1])
        root = w.op("Sqrt", w.op("Add", v, w.c(w.value(node, "epsilon", 1e-5))))
        y = w.op("Mul", w.op("Div", z, root) if w.dice.random() < 0.5 else w.op("Mul", z, w.op("Reciprocal", root)), node.input[1])
        return w.instead(node, w.op("Add", y, node.input[2]) if len(node.input) > 2 else y)


def batch_norm_spelled(w):
    node = w.node(
        "BatchNormalization",
        lambda node: all(w.constant(name) is not None for name in node.input[1:]) and not w.value(node, "training_mode", 0) and len(node.output) == 1,
    )
    if node:
        scale, shift, mean, variance = (w.constant(name).astype(numpy.float64) for name in node.input[1:])
        factor = scale / numpy.sqrt(variance + w.value(node, "epsilon", 1e-5))
        dims = (-1,) + (1,) * (w.rank(node.input[0]) - 2)
        if w.dice.random() < 0.5:
            return w.instead(node, w.op("Add", w.op("Mul", node.input[0], w.c(factor.reshape(dims))), w.c((shift - mean * factor).reshape(dims))))
        return w.instead(
            node, w.op("Add", w.op("Mul", w.op("Sub", node.input[0], w.c(mean.reshape(dims))), w.c(factor.reshape(dims))), w.c(shift.reshape(dims)))
        )


def instance_norm_spelled(w):
    node = w.node("InstanceNormalization", lambda node: w.rank(node.input[0]) == 4)
    if node:
        x, shape = node.input[0], w.ints(1, -1, 1, 1)
        z = w.op("Sub", x, w.reduce("ReduceMean", x, [2, 3]))
        v = w.op("Add", w.reduce("ReduceMean", w.op("Mul", z, z), [2, 3]), w.c(w.value(node, "epsilon", 1e-5)))
        n = w.op("Div", z, w.op("Sqrt", v))
        return w.instead(node, w.op("Add", w.op("Mul", n, w.op("Reshape", node.input[1], shape)), w.op("Reshape", node.input[2], shape)))


def axes_of(w, node):
    """Of a reduction, not negative; None where they are no constant, or all."""
    axes = w.value(node, "axes")
    if axes is None and len(node.input) > 1 and w.constant(node.input[1]) is not None:
        axes = w.constant(node.input[1]).reshape(-1).tolist()
    return [axis % w.rank(node.input[0]) for axis in axes] if axes else None


def mean_by_sum(w):
    node = w.node("ReduceMean", lambda node: axes_of(w, node) and is_fixed(w, node.input[0]))
    if node:
        axes, dims = axes_of(w, node), w.dims(node.input[0])
        return w.instead(
            node, w.op("Div", w.reduce("ReduceSum", node.input[0], axes, w.value(node, "keepdims", 1)), w.c(float(math.prod(dims[axis] for axis in axes))))
        )


def reduced_one_by_one(w):
    node = w.node("ReduceSum ReduceMean ReduceMax ReduceMin", lambda node: len(axes_of(w, node) or []) > 1)
    if node:
        x, keep = node.input[0], w.value(node, "keepdims", 1)
        for axis in sorted(axes_of(w, node), reverse=True):
            x = w.reduce(node.op_type, x, [axis], keep)
        return w.instead(node, x)


def reduced_and_squeezed(w):
    node = w.node(
        "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL2 ReduceL1 ReduceSumSquare", lambda node: axes_of(w, node) and w.value(node, "keepdims", 1) == 0
    )
    if node:
        return w.instead(node, w.squeeze(w.reduce(node.op_type, node.input[0], axes_of(w, node)), *axes_of(w, node)))


def norm_spelled(w):
    node = w.node("ReduceL2 ReduceL1 ReduceSumSquare", lambda node: axes_of(w, node))
    if node:
        x = w.op("Abs", node.input[0]) if node.op_type == "ReduceL1" else w.op("Mul", node.input[0], node.input[0])
        y = w.reduce("ReduceSum", x, axes_of(w, node), w.value(node, "keepdims", 1))
        return w.instead(node, w.op("Sqrt", y) if node.op_type == "ReduceL2" else y)


def sum_by_product(w):
    node = w.node(
        "ReduceSum",
        lambda node: w.is_float(node.input[0])
        and axes_of(w, node) == [w.rank(node.input[0]) - 1]
        and w.value(node, "keepdims", 1)
        and w.rank(node.input[0]) >= 2
        and is_fixed(w, node.input[0]),
    )
    if node:
        return w.instead(node, w.op("MatMul", node.input[0], w.c(numpy.ones((w.dims(node.input[0])[-1], 1)))))


def global_pool_by_mean(w):
    node = w.node("GlobalAveragePool GlobalMaxPool")
    if node:
        return w.instead(node, w.reduce("ReduceMean" if "Average" in node.op_type else "ReduceMax", node.input[0], list(range(2, w.rank(node.input[0])))))


# --- one node: products and convolutions ------------------------------------------------------------------------------------------------


def gemm_spelled(w):
    node = w.node("Gemm", lambda node: w.is_float(node.output[0]))
    if node:
        a, b = (w.op("Transpose", name, perm=[1, 0]) if w.value(node, flag, 0) else name for name, flag in zip(node.input, ("transA", "transB")))
        y = w.op("MatMul", a, b)
        if w.value(node, "alpha", 1.0) != 1.0:
            y = w.op("Mul", y, w.c(w.value(node, "alpha")))
        if len(node.input) > 2:
            c = node.input[2]
            y = w.op("Add", y, c if w.value(node, "beta", 1.0) == 1.0 else w.op("Mul", c, w.c(w.value(node, "beta"))))
        return w.instead(node, y)


def product_by_gemm(w):
    node = w.node("MatMul", lambda node: w.is_float(node.input[0]) and w.rank(node.input[0]) == w.rank(node.input[1]) == 2)
    if node:
        return w.instead(
            node, w.op("Gemm", *node.input) if w.dice.random() < 0.5 else w.op("Gemm", node.input[0], w.op("Transpose", node.input[1], perm=[1, 0]), transB=1)
        )


def product_by_einsum(w):
    node = w.node("MatMul", lambda node: w.is_float(node.input[0]) and w.opset >= 12 and w.rank(node.input[1]) == 2 and w.rank(node.input[0]) in (2, 3))
    if node:
        return w.instead(node, w.op("Einsum", *node.input, equation="ij,jk->ik" if w.rank(node.input[0]) == 2 else "bij,jk->bik"))


def weight_of(w, node, place=1):
    value = w.constant(node.input[place]) if place < len(node.input) else None
    return value if value is not None and value.dtype == numpy.float32 else None


def product_split_by_columns(w):
    node = w.node("MatMul", lambda node: weight_of(w, node) is not None and weight_of(w, node).ndim == 2 and weight_of(w, node).shape[1] > 1)
    if node:
        value = weight_of(w, node)
        at = w.dice.randrange(1, value.shape[1])
        return w.instead(node, w.op("Concat", *(w.op("MatMul", node.input[0], w.c(part)) for part in (value[:, :at], value[:, at:])), axis=-1))


def product_split_by_rows(w):
    node = w.node("MatMul", lambda node: weight_of(w, node) is not None and weight_of(w, node).ndim == 2 and weight_of(w, node).shape[0] > 1)
    if node:
        value = weight_of(w, node)
        at = w.dice.randrange(1, value.shape[0])
        a, b = w.split(node.input[0], [at, value.shape[0] - at], -1)
        return w.instead(node, w.op("Add", w.op("MatMul", a, w.c(value[:at])), w.op("MatMul", b, w.c(value[at:]))))


def product_turned(w):
    node = w.node("MatMul", lambda node: w.is_float(node.output[0]) and w.rank(node.input[0]) == w.rank(node.input[1]) == 2)
    if node:
        a, b = (w.op("Transpose", name, perm=[1, 0]) for name in node.input)
        return w.instead(node, w.op("Transpose", w.op("MatMul", b, a), perm=[1, 0]))


def bias_apart(w):
    node = w.node("Conv ConvTranspose", lambda node: len(node.input) > 2 and w.rank(node.output[0]) >= 3)
    if node:
        bias = w.op("Reshape", node.input[2], w.ints(-1, *[1] * (w.rank(node.output[0]) - 2)))
        return w.instead(node, w.op("Add", w.same(node, *node.input[:2]), bias))


def pads_apart(w):
    node = w.node("Conv", lambda node: w.value(node, "auto_pad", b"NOTSET") == b"NOTSET" and w.value(node, "pads") and w.rank(node.input[0]) >= 3)
    if node:
        pads = w.value(node, "pads")
        half = len(pads) // 2
        y = w.same(node, w.op("Pad", node.input[0], w.ints(0, 0, *pads[:half], 0, 0, *pads[half:])), *node.input[1:])
        w.pending[-1].attribute.remove(w.attribute(w.pending[-1], "pads"))
        return w.instead(node, y)


def conv_split_by_outputs(w):
    node = w.node(
        "Conv",
        lambda node: weight_of(w, node) is not None
        and w.value(node, "group", 1) == 1
        and weight_of(w, node).shape[0] > 1
        and (len(node.input) < 3 or weight_of(w, node, 2) is not None),
    )
    if node:
        value, at = weight_of(w, node), 1
        parts = [
            w.same(node, node.input[0], w.c(value[of]), *([w.c(weight_of(w, node, 2)[of])] if len(node.input) > 2 else []))
            for of in (slice(0, at), slice(at, None))
        ]
        return w.instead(node, w.op("Concat", *parts, axis=1))


def conv_split_by_inputs(w):
    node = w.node("Conv", lambda node: weight_of(w, node) is not None and w.value(node, "group", 1) == 1 and weight_of(w, node).shape[1] > 1)
    if node:
        value = weight_of(w, node)
        a, b = w.split(node.input[0], [1, value.shape[1] - 1], 1)
        return w.instead(node, w.op("Add", w.same(node, a, w.c(value[:, :1])), w.same(node, b, w.c(value[:, 1:]), *node.input[2:])))


def groups_apart(w):
    node = w.node("Conv", lambda node: weight_of(w, node) is not None and 1 < w.value(node, "group", 1) <= 4 and len(node.input) == 2)
    if node:
        groups, value = w.value(node, "group"), weight_of(w, node)
        parts = w.split(node.input[0], [value.shape[1]] * groups, 1)
        results = []
        for i, part in enumerate(parts):
            results.append(w.same(node, part, w.c(numpy.split(value, groups)[i])))
            w.pending[-1].attribute.remove(w.attribute(w.pending[-1], "group"))
        return w.instead(node, w.op("Concat", *results, axis=1))


def dense_groups(w):
    """A convolution in groups by one without, with zeros."""
    node = w.node("Conv", lambda node: weight_of(w, node) is not None and 1 < w.value(node, "group", 1) <= 4)
    if node:
        groups, value = w.value(node, "group"), weight_of(w, node)
        out, width = value.shape[0] // groups, value.shape[1]
        dense = numpy.zeros((value.shape[0], width * groups, *value.shape[2:]))
        for g in range(groups):
            dense[g * out : (g + 1) * out, g * width : (g + 1) * width] = value[g * out : (g + 1) * out]
        y = w.same(node, node.input[0], w.c(dense), *node.input[2:])
        w.pending[-1].attribute.remove(w.attribute(w.pending[-1], "group"))
        return w.instead(node, y)


def scale_into_weight(w):
    """A factor after a product or convolution, taken into its weight."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return (
            w.scalar(node.input[1]) is not None
            and maker is not None
            and maker.op_type in ("MatMul", "Conv")
            and len(maker.input) == 2
            and weight_of(w, maker) is not None
        )

    node = w.node("Mul", fitting)
    if node and w.rank(node.input[1]) <= 1:
        maker = w.maker(node.input[0])
        return w.instead(node, w.same(maker, maker.input[0], w.c(weight_of(w, maker).astype(numpy.float64) * float(w.scalar(node.input[1])))))


def pointwise_by_product(w):
    """A convolution of kernel 1 by a MatMul over the last axis."""
    node = w.node(
        "Conv",
        lambda node: weight_of(w, node) is not None
        and weight_of(w, node).ndim == 4
        and weight_of(w, node).shape[2:] == (1, 1)
        and w.value(node, "group", 1) == 1
        and max(w.value(node, "strides", [1])) == 1
        and not w.value(node, "pads")
        and w.value(node, "auto_pad", b"NOTSET") in (b"NOTSET", b"VALID", b"SAME_UPPER"),
    )
    if node:
        y = w.op("MatMul", w.op("Transpose", node.input[0], perm=[0, 2, 3, 1]), w.c(weight_of(w, node)[:, :, 0, 0].T))
        if len(node.input) > 2:
            y = w.op("Add", y, node.input[2])
        return w.instead(node, w.op("Transpose", y, perm=[0, 3, 1, 2]))


def weight_transposed(w):
    """A constant as the transpose of another one."""
    node = w.node("MatMul Conv Gemm ConvTranspose", lambda node: weight_of(w, node) is not None)
    if node:
        value = weight_of(w, node)
        perm = list(range(value.ndim))
        w.dice.shuffle(perm)
        turned = w.op("Transpose", w.c(value.transpose(perm)), perm=[perm.index(i) for i in range(value.ndim)])
        return w.between((None, node, 1), turned)


def channels_permuted_through(w):
    """A product's columns in another order, put right by a Gather."""
    node = w.node("MatMul", lambda node: weight_of(w, node) is not None and weight_of(w, node).ndim == 2)
    if node:
        value = weight_of(w, node)
        order = list(range(value.shape[1]))
        w.dice.shuffle(order)
        y = w.op("MatMul", node.input[0], w.c(value[:, order]))
        return w.instead(node, w.op("Gather", y, w.ints(*[order.index(i) for i in range(len(order))]), axis=-1))


# --- dims -----------------------------------------------------------------------------------------------------------------------------------


def flatten_by_reshape(w):
    node = w.node("Flatten", lambda node: w.value(node, "axis", 1) == 1 and w.rank(node.input[0]) >= 2)
    if node:
        return w.instead(node, w.op("Reshape", node.input[0], w.ints(0, -1)))


def reshape_computed(w):
    """The target of a Reshape through nodes."""
    node = w.node("Reshape", lambda node: w.constant(node.input[1]) is not None and w.constant(node.input[1]).size > 1)
    if node:
        target = w.constant(node.input[1])
        return w.between((None, node, 1), w.op("Concat", w.c(target[:1], numpy.int64), w.op("Mul", w.c(target[1:], numpy.int64), w.ints(1)), axis=0))


def split_by_slices(w):
    def fitting(node):
        return w.rank(node.input[0]) >= 1 and all(w.dims(name) and w.dims(name)[w.axis(node, 0)] for name in node.output)

    node = w.node("Split", fitting)
    if node:
        axis, at, parts = w.axis(node, 0), 0, []
        for name in node.output:
            size = w.dims(name)[axis]
            parts.append(w.op("Slice", node.input[0], w.ints(at), w.ints(at + size), w.ints(axis)))
            at += size
        return w.instead(node, *parts)


def concat_nested(w):
    node = w.node("Concat", lambda node: len(node.input) > 2)
    if node:
        return w.instead(node, w.same(node, w.same(node, *node.input[:2]), *node.input[2:]))


def gather_by_slice(w):
    node = w.node(
        "Gather", lambda node: w.scalar(node.input[1]) is not None and w.rank(node.input[1]) == 0 and w.arrays(node.input[0]) and w.rank(node.input[0]) >= 1
    )
    if node:
        at, axis = int(w.scalar(node.input[1])), w.axis(node, 0)
        y = w.op("Slice", node.input[0], w.ints(at), w.ints(at + 1 if at != -1 else 2**63 - 1), w.ints(axis))
        return w.instead(node, w.squeeze(y, axis))


def transpose_in_two(w):
    node = w.node("Transpose", lambda node: w.rank(node.input[0]) >= 2)
    if node:
        rank = w.rank(node.input[0])
        perm = w.value(node, "perm", list(range(rank))[::-1])
        first = list(range(rank))
        w.dice.shuffle(first)
        return w.instead(node, w.op("Transpose", w.op("Transpose", node.input[0], perm=first), perm=[first.index(i) for i in perm]))


def transposed_through(w):
    """An elementwise operator in other dims."""
    node = w.node("Relu Sigmoid Tanh Erf Abs Neg Exp Sqrt Softplus Elu Clip", lambda node: w.is_float(node.input[0]) and w.rank(node.input[0]) >= 2)
    if node:
        perm = list(range(w.rank(node.input[0])))
        w.dice.shuffle(perm)
        return w.instead(
            node, w.op("Transpose", w.same(node, w.op("Transpose", node.input[0], perm=perm), *node.input[1:]), perm=[perm.index(i) for i in range(len(perm))])
        )


def squeeze_by_reshape(w):
    node = w.node("Squeeze Unsqueeze", lambda node: w.arrays(node.output[0]) and is_fixed(w, node.output[0]) and w.rank(node.output[0]) >= 1)
    if node:
        return w.instead(node, w.op("Reshape", node.input[0], w.ints(*w.dims(node.output[0]))))


def pad_by_concat(w):
    """Zeros at the end of the last axis."""

    def fitting(node):
        pads = w.constant(node.input[1])
        dims = w.dims(node.input[0])
        return (
            pads is not None
            and w.value(node, "mode", b"constant") == b"constant"
            and len(node.input) == 2
            and w.is_float(node.input[0])
            and is_fixed(w, node.input[0])
            and (pads >= 0).all()
            and len(pads) == 2 * len(dims)
        )

    node = w.node("Pad", fitting)
    if node:
        x, pads, dims = node.input[0], w.constant(node.input[1]), list(w.dims(node.input[0]))
        for axis in range(len(dims)):
            before, after = int(pads[axis]), int(pads[axis + len(dims)])
            parts = [w.c(numpy.zeros((*dims[:axis], count, *dims[axis + 1 :]))) if count else None for count in (before, after)]
            if before or after:
                x = w.op("Concat", *[part for part in (parts[0], x, parts[1]) if part], axis=axis)
                dims[axis] += before + after
        return w.instead(node, x)


def depth_by_reshape(w):
    node = w.node("DepthToSpace", lambda node: is_fixed(w, node.input[0]))
    if node:
        b, (n, c, h, v) = w.value(node, "blocksize"), w.dims(node.input[0])
        column = w.value(node, "mode", b"DCR") == b"CRD"
        y = w.op("Reshape", node.input[0], w.ints(n, c // b**2, b, b, h, v) if column else w.ints(n, b, b, c // b**2, h, v))
        y = w.op("Transpose", y, perm=[0, 1, 4, 2, 5, 3] if column else [0, 3, 4, 1, 5, 2])
        return w.instead(node, w.op("Reshape", y, w.ints(n, c // b**2, h * b, v * b)))


# --- comparisons, choices, casts ----------------------------------------------------------------------------------------------------------


def comparison_turned(w):
    others = {"Less": "Greater", "Greater": "Less", "LessOrEqual": "GreaterOrEqual", "GreaterOrEqual": "LessOrEqual"}
    node = w.node("Less Greater LessOrEqual GreaterOrEqual")
    if node:
        return w.instead(node, w.op(others[node.op_type], node.input[1], node.input[0]))


def comparison_in_two(w):
    node = w.node("LessOrEqual GreaterOrEqual", lambda node: w.opset >= 11)
    if node:
        return w.instead(node, w.op("Or", w.op(node.op_type.removesuffix("OrEqual"), *node.input), w.op("Equal", *node.input)))


def where_turned(w):
    node = w.node("Where")
    if node:
        return w.instead(node, w.op("Where", w.op("Not", node.input[0]), node.input[2], node.input[1]))


def boolean_cast_by_where(w):
    node = w.node("Cast", lambda node: w.dtype(node.input[0]) == numpy.bool_ and w.value(node, "to") == FLOAT)
    if node:
        return w.instead(node, w.op("Where", node.input[0], w.c(1.0), w.c(0.0)))


def and_by_or(w):
    node = w.node("And Or")
    if node:
        return w.instead(node, w.op("Not", w.op("Or" if node.op_type == "And" else "And", *(w.op("Not", name) for name in node.input))))


def branches_exchanged(w):
    node = w.node("If")
    if node:
        one, other = w.attribute(node, "then_branch"), w.attribute(node, "else_branch")
        one.name, other.name = "else_branch", "then_branch"
        return w.between((None, node, 0), w.op("Not", node.input[0]))


def argmax_squeezed(w):
    node = w.node("ArgMax ArgMin", lambda node: w.value(node, "keepdims", 1) == 0)
    if node:
        y = w.same(node, node.input[0])
        w.attribute(w.pending[-1], "keepdims").i = 1
        return w.instead(node, w.squeeze(y, w.axis(node, 0)))


def argmax_by_topk(w):
    node = w.node("ArgMax", lambda node: w.value(node, "keepdims", 1) == 1 and not w.value(node, "select_last_index", 0) and w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.op("TopK", node.input[0], w.ints(1), outs=2, axis=w.axis(node, 0))[1])


# --- quantizers ---------------------------------------------------------------------------------------------------------------------------


def dequantized_spelled(w):
    node = w.node("DequantizeLinear", lambda node: len(node.input) == 3 and w.scalar(node.input[1]) is not None and w.rank(node.input[1]) == 0)
    if node:
        x, zero = (w.op("Cast", name, to=FLOAT) for name in (node.input[0], node.input[2]))
        return w.instead(node, w.op("Mul", w.op("Sub", x, zero), node.input[1]))


def integer_product_spelled(w):
    node = w.node("MatMulInteger", lambda node: len(node.input) == 4 and w.rank(node.input[2]) == w.rank(node.input[3]) == 0)
    if node:
        a, b = (w.op("Sub", w.op("Cast", node.input[i], to=TensorProto.INT32), w.op("Cast", node.input[i + 2], to=TensorProto.INT32)) for i in (0, 1))
        return w.instead(node, w.op("MatMul", a, b))


# --- constants, names, order, functions ---------------------------------------------------------------------------------------------------


def constant_edge(w, test=lambda value: True):
    found = [(name, node, place) for node in w.nodes for place, name in enumerate(node.input) if name in w.constants and test(w.get(name))]
    return w.dice.choice(found) if found else None


def constant_copied(w):
    edge = constant_edge(w)
    if edge:
        return w.between(edge, w.c(w.get(edge[0]), w.get(edge[0]).dtype))


def constant_by_node(w):
    edge = constant_edge(w)
    if edge:
        return w.between(edge, w.op("Constant", value=numpy_helper.from_array(w.get(edge[0]))))


def constant_joined(w):
    edge = constant_edge(w, lambda value: value.ndim >= 1 and value.shape[0] >= 2)
    if edge:
        value = w.get(edge[0])
        return w.between(edge, w.op("Concat", w.c(value[:1], value.dtype), w.c(value[1:], value.dtype), axis=0))


def constant_reshaped(w):
    edge = constant_edge(w, lambda value: value.ndim >= 1 and value.size)
    if edge:
        value = w.get(edge[0])
        return w.between(edge, w.op("Reshape", w.c(value.reshape(-1), value.dtype), w.ints(*value.shape)))


def constant_expanded(w):
    edge = constant_edge(w, lambda value: value.dtype == numpy.float32 and value.ndim >= 1 and value.size and (value == value.reshape(-1)[0]).all())
    if edge:
        value = w.get(edge[0])
        if w.dice.random() < 0.5:
            return w.between(edge, w.op("Expand", w.c(value.reshape(-1)[0]), w.ints(*value.shape)))
        return w.between(edge, w.op("ConstantOfShape", w.ints(*value.shape), value=helper.make_tensor("", FLOAT, [1], [float(value.reshape(-1)[0])])))


def constant_cast(w):
    edge = constant_edge(w, lambda value: value.dtype == numpy.float32)
    if edge:
        return w.between(edge, w.op("Cast", w.c(w.get(edge[0]), numpy.float64), to=FLOAT))


def constant_halves(w):
    edge = constant_edge(w, lambda value: value.dtype == numpy.float32)
    if edge:
        value = w.get(edge[0])
        return w.between(edge, w.op(*w.dice.choice([("Add", w.c(value / 2), w.c(value / 2)), ("Mul", w.c(value / 4), w.c(4.0)), ("Neg", w.c(-value))])))


def scalar_as_row(w):
    """A number as a tensor of as many dims as the other operand has."""
    node = w.node(
        "Add Mul Sub Div Max Min Where Less Greater",
        lambda node: any(w.scalar(name) is not None and w.rank(name) == 0 for name in node.input) and w.rank(node.output[0]) >= 1,
    )
    if node:
        place = next(i for i, name in enumerate(node.input) if w.scalar(name) is not None and w.rank(name) == 0)
        value = w.get(node.input[place])
        return w.between((None, node, place), w.c(value.reshape((1,) * w.dice.randrange(1, w.rank(node.output[0]) + 1)), value.dtype))


def node_twice(w):
    """One reader gets a node of its own."""
    edge = w.edge(lambda name: w.maker(name) is not None and len(w.readers(name)) > 1 and len(w.maker(name).output) == 1)
    if edge:
        maker = w.maker(edge[0])
        return w.between(edge, w.same(maker, *maker.input))


def dead_node(w):
    edge = floats(w)
    if edge:
        w.op("Exp", edge[0])
        return w.between(edge, edge[0])


def order_shuffled(w):
    waiting, made, order = list(w.nodes), {tensor.name for tensor in w.graph.initializer} | {one.name for one in w.graph.input} | {""}, []
    every = {name for node in w.nodes for name in node.output}
    while waiting:
        node = w.dice.choice([node for node in waiting if not ((drafts.free_names([node]) & every) - made)])
        order.append(node)
        made.update(node.output)
        waiting.remove(node)
    if [node.name for node in order] == [node.name for node in w.nodes]:
        return False
    del w.nodes[:]
    w.nodes.extend(order)
    return True


def renamed(w):
    """Values within; nodes lose their names."""
    if w.model.functions or any(attribute.g.node for node in w.nodes for attribute in node.attribute):
        return False
    others = {name: w.name("other") for node in w.nodes for name in node.output if name and name not in w.outputs}
    others |= {tensor.name: w.name("weight") for tensor in w.graph.initializer if tensor.name in w.constants}
    for tensor in w.graph.initializer:
        tensor.name = others.get(tensor.name, tensor.name)
    for node in w.nodes:
        node.name = ""
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = others.get(name, name)
    del w.graph.value_info[:]
    return True


def inlined(w):
    if not w.model.functions:
        return False
    import onnx.inliner

    w.model.CopyFrom(onnx.inliner.inline_local_functions(w.model))
    return True


def outlined(w):
    """One node as a function of the model."""
    node = w.node("Relu Tanh Sigmoid Add Mul MatMul Softmax Clip Sub Div Transpose", lambda node: all(node.input) and w.model.ir_version >= 8)
    if not node:
        return False
    formals, inner = [w.name("p") for _ in node.input], onnx.NodeProto()
    inner.CopyFrom(node)
    del inner.input[:], inner.output[:]
    inner.input.extend(formals), inner.output.extend(["out"])
    name = w.name("Outlined")
    w.model.functions.append(helper.make_function("local", name, formals, ["out"], [inner], [helper.make_opsetid("", w.opset)]))
    if not any(one.domain == "local" for one in w.model.opset_import):
        w.model.opset_import.append(helper.make_opsetid("local", 1))
    return w.instead(node, w.op(name, *node.input, domain="local"))


def other_opset(w):
    """By the converter of the onnx package."""
    if w.model.functions or any(node.domain for node in w.nodes) or any(attribute.g.node for node in w.nodes for attribute in node.attribute):
        return False
    import onnx.version_converter

    target = w.dice.choice([13, 15, 17, 18, 19, 21])
    try:
        other = onnx.version_converter.convert_version(w.model, target)
    except Exception:
        return False
    if target == w.opset:
        return False
    w.model.CopyFrom(other)
    return True


# --- more of the same kinds ---------------------------------------------------------------------------------------------------------------


def odd_function(w):
    node = w.node("Tanh Erf Sin Atan Asinh Softsign", lambda node: w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.op("Neg", w.same(node, w.op("Neg", node.input[0]))))


def softmax_shifted(w):
    node = w.node("Softmax LogSoftmax", lambda node: w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.same(node, w.op("Add", node.input[0], w.c(w.dice.choice([1.0, -2.0])))))


def celu_spelled(w):
    node = w.node("Celu")
    if node:
        x, alpha = node.input[0], w.value(node, "alpha", 1.0)
        low = w.op("Mul", w.op("Sub", w.op("Exp", w.op("Min", w.op("Div", x, w.c(alpha)), w.c(0.0))), w.c(1.0)), w.c(alpha))
        return w.instead(node, w.op("Add", w.op("Max", x, w.c(0.0)), low))


def selu_spelled(w):
    node = w.node("Selu", lambda node: not node.attribute)
    if node:
        x, alpha, gamma = node.input[0], 1.6732632423543772, 1.0507009873554805
        low = w.op("Mul", w.op("Sub", w.op("Exp", w.op("Min", x, w.c(0.0))), w.c(1.0)), w.c(alpha * gamma))
        return w.instead(node, w.op("Where", w.op("LessOrEqual" if w.opset >= 12 else "Less", x, w.c(0.0)), low, w.op("Mul", x, w.c(gamma))))


def where_by_arithmetic(w):
    node = w.node(
        "Where", lambda node: w.is_float(node.output[0]) and max(abs(array).max(initial=0) for name in node.input[1:] for array in w.arrays(name)) < 100
    )
    if node:
        mask = w.op("Cast", node.input[0], to=FLOAT)
        return w.instead(node, w.op("Add", w.op("Mul", mask, node.input[1]), w.op("Mul", w.op("Sub", w.c(1.0), mask), node.input[2])))


def clipped_twice(w):
    node = w.node("Clip Relu", lambda node: w.is_float(node.input[0]))
    if node:
        return w.instead(node, w.same(node, w.same(node, *node.input), *node.input[1:]))


def reduced_from_the_other_end(w):
    node = w.node("ReduceMax ReduceMin", lambda node: w.is_float(node.input[0]))
    if node:
        y = w.same(node, w.op("Neg", node.input[0]), *node.input[1:])
        w.pending[-1].op_type = "ReduceMin" if node.op_type == "ReduceMax" else "ReduceMax"
        return w.instead(node, w.op("Neg", y))


def mean_by_global_pool(w):
    node = w.node("ReduceMean", lambda node: w.rank(node.input[0]) == 4 and sorted(axes_of(w, node) or []) == [2, 3] and w.value(node, "keepdims", 1))
    if node:
        return w.instead(node, w.op("GlobalAveragePool", node.input[0]))


def global_pool_by_window(w):
    node = w.node("GlobalAveragePool GlobalMaxPool", lambda node: is_fixed(w, node.input[0]) and w.rank(node.input[0]) == 4)
    if node:
        return w.instead(node, w.op(node.op_type.removeprefix("Global"), node.input[0], kernel_shape=w.dims(node.input[0])[2:]))


def pool_by_convolution(w):
    """An average without pads, by a convolution of each channel."""
    node = w.node(
        "AveragePool",
        lambda node: w.rank(node.input[0]) == 4
        and w.dims(node.input[0])[1]
        and not w.value(node, "pads")
        and not w.value(node, "ceil_mode", 0)
        and w.value(node, "auto_pad", b"NOTSET") == b"NOTSET"
        and max(w.value(node, "dilations", [1])) == 1,
    )
    if node:
        channels, kernel = w.dims(node.input[0])[1], w.value(node, "kernel_shape")
        weight = w.c(numpy.full((channels, 1, *kernel), 1 / math.prod(kernel)))
        return w.instead(node, w.op("Conv", node.input[0], weight, group=channels, strides=w.value(node, "strides")))


def batch_norm_folded(w):
    """Into the convolution upstream, by doubles."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return (
            maker is not None
            and maker.op_type == "Conv"
            and weight_of(w, maker) is not None
            and all(w.constant(name) is not None for name in node.input[1:])
            and (len(maker.input) < 3 or weight_of(w, maker, 2) is not None)
            and len(node.output) == 1
            and not w.value(node, "training_mode", 0)
        )

    node = w.node("BatchNormalization", fitting)
    if node:
        maker = w.maker(node.input[0])
        scale, shift, mean, variance = (w.constant(name).astype(numpy.float64) for name in node.input[1:])
        factor = scale / numpy.sqrt(variance + w.value(node, "epsilon", 1e-5))
        weight = weight_of(w, maker).astype(numpy.float64)
        bias = weight_of(w, maker, 2) if len(maker.input) > 2 else 0.0
        folded = w.c(weight * factor.reshape(-1, *[1] * (weight.ndim - 1)))
        return w.instead(node, w.same(maker, maker.input[0], folded, w.c((bias - mean) * factor + shift)))


def addend_into_bias(w):
    def fitting(node):
        maker, value = w.maker(node.input[0]), w.constant(node.input[1])
        return (
            maker is not None
            and maker.op_type == "Conv"
            and len(maker.input) == 2
            and weight_of(w, maker) is not None
            and value is not None
            and w.is_float(node.input[1])
            and value.shape in ((1, weight_of(w, maker).shape[0], 1, 1), (weight_of(w, maker).shape[0], 1, 1))
            and w.rank(node.output[0]) == 4
        )

    node = w.node("Add", fitting)
    if node:
        maker = w.maker(node.input[0])
        return w.instead(node, w.same(maker, *maker.input, w.c(w.constant(node.input[1]).reshape(-1))))


def products_merged(w):
    """x · V · W as x · (V · W)."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return maker is not None and maker.op_type == "MatMul" and all(one is not None and one.ndim == 2 for one in (weight_of(w, node), weight_of(w, maker)))

    node = w.node("MatMul", fitting)
    if node:
        maker = w.maker(node.input[0])
        return w.instead(node, w.op("MatMul", maker.input[0], w.c(weight_of(w, maker).astype(numpy.float64) @ weight_of(w, node).astype(numpy.float64))))


def product_bracketed(w):
    """(x · V) · W as x · (V · W), by nodes."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return maker is not None and maker.op_type == "MatMul" and weight_of(w, maker) is not None and w.rank(node.input[1]) == 2

    node = w.node("MatMul", fitting)
    if node:
        maker = w.maker(node.input[0])
        return w.instead(node, w.op("MatMul", maker.input[0], w.op("MatMul", maker.input[1], node.input[1])))


def line_as_image(w):
    """A convolution along one axis as one over two."""
    node = w.node("Conv", lambda node: weight_of(w, node) is not None and weight_of(w, node).ndim == 3 and w.value(node, "auto_pad", b"NOTSET") == b"NOTSET")
    if node:
        pads = w.value(node, "pads", [0, 0])
        attributes = {
            "kernel_shape": [weight_of(w, node).shape[2], 1],
            "pads": [pads[0], 0, pads[1], 0],
            "strides": [*w.value(node, "strides", [1]), 1],
            "dilations": [*w.value(node, "dilations", [1]), 1],
            "group": w.value(node, "group", 1),
        }
        y = w.op("Conv", w.unsqueeze(node.input[0], 3), w.c(weight_of(w, node)[..., None]), *node.input[2:], **attributes)
        return w.instead(node, w.squeeze(y, 3))


def einsum_by_product(w):
    node = w.node("Einsum", lambda node: w.value(node, "equation") in (b"bi,ij->bj", b"bsi,ij->bsj", b"ij,jk->ik", b"bij,jk->bik"))
    if node:
        return w.instead(node, w.op("MatMul", *node.input))


def cumsum_by_product(w):
    node = w.node(
        "CumSum",
        lambda node: w.scalar(node.input[1]) is not None
        and w.scalar(node.input[1]) in (-1, w.rank(node.input[0]) - 1)
        and w.rank(node.input[0]) >= 2
        and is_fixed(w, node.input[0])
        and w.is_float(node.input[0]),
    )
    if node:
        size = w.dims(node.input[0])[-1]
        matrix = numpy.triu(numpy.ones((size, size)), 1 if w.value(node, "exclusive", 0) else 0)
        return w.instead(node, w.op("MatMul", node.input[0], w.c(matrix.T if w.value(node, "reverse", 0) else matrix)))


def one_hot_by_equal(w):
    node = w.node(
        "OneHot",
        lambda node: w.scalar(node.input[1]) is not None
        and w.constant(node.input[2]) is not None
        and list(w.constant(node.input[2])) == [0, 1]
        and w.value(node, "axis", -1) == -1
        and all((array >= 0).all() for array in w.arrays(node.input[0]))
        and w.is_float(node.output[0]),
    )
    if node:
        numbers = w.ints(*range(int(w.scalar(node.input[1]))))
        return w.instead(node, w.op("Cast", w.op("Equal", w.unsqueeze(node.input[0], -1), numbers), to=FLOAT))


def trilu_by_mask(w):
    node = w.node("Trilu", lambda node: is_fixed(w, node.input[0]) and (len(node.input) < 2 or w.scalar(node.input[1]) is not None))
    if node:
        diagonal = int(w.scalar(node.input[1])) if len(node.input) > 1 else 0
        ones = numpy.ones(w.dims(node.input[0])[-2:])
        return w.instead(node, w.op("Mul", node.input[0], w.c(numpy.triu(ones, diagonal) if w.value(node, "upper", 1) else numpy.tril(ones, diagonal))))


def slice_by_gather(w):
    def fitting(node):
        starts = w.constant(node.input[1])
        return (
            is_fixed(w, node.input[0])
            and starts is not None
            and starts.size == 1
            and all(w.constant(name) is not None for name in node.input[1:])
            and len(node.input) > 3
        )

    node = w.node("Slice", fitting)
    if node:
        start, end, axis = (int(w.scalar(name)) for name in node.input[1:4])
        step = int(w.scalar(node.input[4])) if len(node.input) > 4 else 1
        size = w.dims(node.input[0])[axis]
        chosen = range(size)[slice(start, None if step < 0 and end < -size else end, step)]
        if len(chosen):
            return w.instead(node, w.op("Gather", node.input[0], w.ints(*chosen), axis=axis))


def tile_by_concat(w):
    node = w.node("Tile", lambda node: w.constant(node.input[1]) is not None and (w.constant(node.input[1]) > 1).sum() == 1)
    if node:
        axis = int(numpy.argmax(w.constant(node.input[1])))
        return w.instead(node, w.op("Concat", *[node.input[0]] * int(w.constant(node.input[1])[axis]), axis=axis))


def expand_by_product(w):
    node = w.node("Expand", lambda node: w.is_float(node.input[0]))
    if node:
        ones = w.op("ConstantOfShape", node.input[1], value=helper.make_tensor("", FLOAT, [1], [1.0]))
        return w.instead(node, w.op("Mul", node.input[0], ones))


def concat_by_padding(w):
    node = w.node(
        "Concat",
        lambda node: len(node.input) == 2 and w.is_float(node.input[0]) and all(is_fixed(w, name) for name in node.input) and w.rank(node.input[0]) <= 4,
    )
    if node:
        axis, rank = w.axis(node), w.rank(node.output[0])
        before, after = [0] * (2 * rank), [0] * (2 * rank)
        before[axis], after[axis + rank] = w.dims(node.input[0])[axis], w.dims(node.input[1])[axis]
        return w.instead(node, w.op("Add", w.op("Pad", node.input[0], w.ints(*after)), w.op("Pad", node.input[1], w.ints(*before))))


def through_concat(w):
    """An elementwise operator on each part."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return maker is not None and maker.op_type == "Concat" and w.is_float(node.output[0])

    node = w.node("Relu Tanh Sigmoid Neg Abs Exp Clip Erf Sqrt", fitting)
    if node:
        maker = w.maker(node.input[0])
        return w.instead(node, w.same(maker, *(w.same(node, part, *node.input[1:]) for part in maker.input)))


def before_the_choice(w):
    """An elementwise operator in front of what picks or moves elements."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return (
            maker is not None and maker.op_type in ("Slice", "Gather", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten") and w.is_float(node.output[0])
        )

    node = w.node("Relu Tanh Sigmoid Neg Abs Exp Clip Erf", fitting)
    if node:
        maker = w.maker(node.input[0])
        return w.instead(node, w.same(maker, w.same(node, maker.input[0], *node.input[1:]), *maker.input[1:]))


def reshape_spelled_out(w):
    """Its target as what it comes to."""
    node = w.node("Reshape", lambda node: is_fixed(w, node.output[0]) and w.rank(node.output[0]) >= 1)
    if node:
        return w.between((None, node, 1), w.ints(*w.dims(node.output[0])))


def shape_by_part(w):
    """Shape of one dim alone."""

    def fitting(node):
        maker = w.maker(node.input[0])
        return (
            maker is not None
            and maker.op_type == "Shape"
            and not maker.attribute
            and w.opset >= 15
            and w.scalar(node.input[1]) is not None
            and w.rank(node.input[1]) == 0
        )

    node = w.node("Gather", fitting)
    if node:
        at = int(w.scalar(node.input[1]))
        y = w.op("Shape", w.maker(node.input[0]).input[0], start=at, **({"end": at + 1} if at != -1 else {}))
        return w.instead(node, w.squeeze(y, 0))


def resize_by_sizes(w):
    node = w.node(
        "Resize",
        lambda node: len(node.input) == 3
        and node.input[2] in w.constants
        and is_fixed(w, node.output[0])
        and all(float(a * s).is_integer() for a, s in zip(w.dims(node.input[0]), w.get(node.input[2]))),
    )
    if node:
        return w.instead(node, w.same(node, node.input[0], None, None, w.ints(*w.dims(node.output[0]))))


def doubled_by_expanding(w):
    """Nearest neighbours twice as large."""
    node = w.node(
        "Resize",
        lambda node: len(node.input) == 3
        and node.input[2] in w.constants
        and list(w.get(node.input[2])) == [1, 1, 2, 2]
        and w.value(node, "mode", b"nearest") == b"nearest"
        and w.value(node, "coordinate_transformation_mode") == b"asymmetric"
        and w.value(node, "nearest_mode") == b"floor"
        and is_fixed(w, node.output[0]),
    )
    if node:
        n, c, h, v = w.dims(node.input[0])
        y = w.op("Expand", w.op("Reshape", node.input[0], w.ints(n, c, h, 1, v, 1)), w.ints(n, c, h, 2, v, 2))
        return w.instead(node, w.op("Reshape", y, w.ints(n, c, 2 * h, 2 * v)))


def quantized_spelled(w):
    node = w.node(
        "QuantizeLinear",
        lambda node: len(node.input) == 3
        and w.scalar(node.input[1]) is not None
        and w.scalar(node.input[2]) is not None
        and w.rank(node.input[1]) == 0
        and w.dtype(node.output[0]) in (numpy.uint8, numpy.int8),
    )
    if node:
        kind = w.dtype(node.output[0])
        limits = numpy.iinfo(kind)
        y = w.op("Add", w.op("Round", w.op("Div", node.input[0], node.input[1])), w.op("Cast", node.input[2], to=FLOAT))
        y = w.op("Clip", y, w.c(float(limits.min)), w.c(float(limits.max)))
        return w.instead(node, w.op("Cast", y, to=helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))))


def dequantized_constant(w):
    node = w.node("DequantizeLinear", lambda node: node.input[0] in w.constants and w.arrays(node.output[0]))
    if node:
        return w.instead(node, w.op("Identity", w.c(w.arrays(node.output[0])[0])))


def integer_convolution_spelled(w):
    node = w.node("ConvInteger", lambda node: len(node.input) == 4 and w.rank(node.input[3]) == 0)
    if node:
        a, b = (w.op("Sub", w.op("Cast", node.input[i], to=FLOAT), w.op("Cast", node.input[i + 2], to=FLOAT)) for i in (0, 1))
        y = w.same(node, a, b)
        w.pending[-1].op_type = "Conv"
        return w.instead(node, w.op("Cast", y, to=TensorProto.INT32))


def loop_unrolled(w):
    """Of a constant number of rounds that nothing ends earlier."""

    def fitting(node):
        body = w.attribute(node, "body").g
        ends = next((inside for inside in body.node if inside.output[0] == body.output[0].name), None)
        simple = not any(attribute.g.node for inside in body.node for attribute in inside.attribute)
        return (
            w.scalar(node.input[0]) is not None
            and ends is not None
            and ends.op_type == "Identity"
            and simple
            and len(body.output) == 2
            and len(node.output) == 1
        )

    node = w.node("Loop", fitting)
    if node:
        body, state = w.attribute(node, "body").g, node.input[2]
        for i in range(int(w.scalar(node.input[0]))):
            names = {body.input[0].name: w.c(i, numpy.int64), body.input[1].name: node.input[1], body.input[2].name: state}
            for inside in body.node:
                copy = onnx.NodeProto()
                copy.CopyFrom(inside)
                copy.name = w.name("round/")
                for place, name in enumerate(copy.input):
                    copy.input[place] = names.get(name, name)
                for place, name in enumerate(copy.output):
                    names[name] = copy.output[place] = w.name()
                w.pending.append(copy)
            state = names[body.output[1].name]
        return w.instead(node, w.op("Identity", state))


def branches_alike(w):
    """An If whose branches are the same."""
    edge = floats(w)
    if edge:

        def branch():
            name = w.name()
            return helper.make_graph([helper.make_node("Identity", [edge[0]], [name])], w.name("g"), [], [helper.make_tensor_value_info(name, FLOAT, None)])

        c = w.op("Greater", w.op("ReduceMax", edge[0], keepdims=0), w.c(w.dice.choice([0.0, 1.0])))
        return w.between(edge, w.op("If", c, then_branch=branch(), else_branch=branch()))


def outlined_with_attribute(w):
    """A function whose node takes an attribute from the call."""
    node = w.node("LeakyRelu Elu", lambda node: w.attribute(node, "alpha") is not None and w.model.ir_version >= 8)
    if node:
        inner = helper.make_node(node.op_type, ["in"], ["out"])
        reference = inner.attribute.add()
        reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", onnx.AttributeProto.FLOAT
        name = w.name("Sloped")
        w.model.functions.append(helper.make_function("local", name, ["in"], ["out"], [inner], [helper.make_opsetid("", w.opset)], ["slope"]))
        if not any(one.domain == "local" for one in w.model.opset_import):
            w.model.opset_import.append(helper.make_opsetid("local", 1))
        return w.instead(node, w.op(name, node.input[0], domain="local", slope=w.value(node, "alpha")))


def by_the_standard(w):
    """All nodes of one operator as the standard's own function."""
    kinds = sorted({node.op_type for node in w.nodes if node.domain == "" and has_function(node.op_type, w.opset)})
    if not kinds or w.model.functions:
        return False
    import onnx.inliner

    kind = w.dice.choice(kinds)
    del w.graph.value_info[:]
    for name in [*w.facts, *w.constants]:  # its choice depends on types
        if w.arrays(name) and not any(one.name == name for one in [*w.graph.input, *w.graph.output]):
            w.graph.value_info.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(w.dtype(name)), w.dims(name)))
    try:
        w.model.CopyFrom(onnx.inliner.inline_selected_functions(w.model, [("", kind)], inline_schema_functions=True))
    except RuntimeError:
        return False
    del w.graph.value_info[:]
    return kind not in {node.op_type for node in w.nodes}


def has_function(kind: str, opset: int) -> bool:
    try:
        schema = onnx.defs.get_schema(kind, opset, "")
    except Exception:
        return False
    return schema.has_function or schema.has_context_dependent_function


# Those that fit nearly everywhere, and those that need a certain node.
GENERAL = (transposed_twice, reshaped_twice, squeezed, negated_twice, scaled_back, identity, cast_wider, split_and_joined, padded_and_cut, sliced_whole,
           reversed_twice, chosen_always, expanded, larger_of_itself, in_a_sequence, branch_taken, in_a_loop, branches_alike, tiled_once, depth_and_back,
           unit_product, gathered_in_order, constant_copied, constant_by_node, constant_joined, constant_reshaped, constant_expanded, constant_cast,
           constant_halves, scalar_as_row, node_twice, dead_node, order_shuffled, renamed, inlined, outlined, other_opset)
SPECIAL = (subtracted_by_adding, added_by_subtracting, commuted, divided_by_multiplying, multiplied_by_dividing, divided_by_reciprocal,
           reciprocal_by_dividing, constant_split, distributed, associated, square_as_power, power_as_product, root_as_power, sum_as_additions,
           addition_as_sum, minimum_by_maximum, relu_by_maximum, clip_by_limits, limits_by_clip, sigmoid_spelled, leaky_relu_by_maximum, prelu_spelled,
           hard_sigmoid_spelled, hard_swish_spelled, abs_by_maximum, softsign_spelled, mish_spelled, thresholded_spelled, elu_spelled, gelu_spelled,
           softmax_spelled, log_softmax_spelled, layer_norm_spelled, batch_norm_spelled, instance_norm_spelled, mean_by_sum, reduced_one_by_one,
           reduced_and_squeezed, norm_spelled, sum_by_product, global_pool_by_mean, gemm_spelled, product_by_gemm, product_by_einsum,
           product_split_by_columns, product_split_by_rows, product_turned, bias_apart, pads_apart, conv_split_by_outputs, conv_split_by_inputs, groups_apart,
           dense_groups, scale_into_weight, pointwise_by_product, weight_transposed, channels_permuted_through, flatten_by_reshape, reshape_computed,
           split_by_slices, concat_nested, gather_by_slice, transpose_in_two, transposed_through, squeeze_by_reshape, pad_by_concat, depth_by_reshape,
           comparison_turned, comparison_in_two, where_turned, boolean_cast_by_where, and_by_or, branches_exchanged, argmax_squeezed, argmax_by_topk,
           dequantized_spelled, integer_product_spelled, odd_function, softmax_shifted, celu_spelled, selu_spelled, where_by_arithmetic, clipped_twice,
           reduced_from_the_other_end, mean_by_global_pool, global_pool_by_window, pool_by_convolution, batch_norm_folded, addend_into_bias, products_merged,
           product_bracketed, line_as_image, einsum_by_product, cumsum_by_product, one_hot_by_equal, trilu_by_mask, slice_by_gather, tile_by_concat,
           expand_by_product, concat_by_padding, through_concat, before_the_choice, reshape_spelled_out, shape_by_part, resize_by_sizes, doubled_by_expanding,
           quantized_spelled, dequantized_constant, integer_convolution_spelled, loop_unrolled, outlined_with_attribute, by_the_standard)
RULES = GENERAL + SPECIAL


def apply(model: onnx.ModelProto, feeds, dice) -> tuple:
    """A rule that the dice choose among those that fit, and the model rewritten by it; nothing where none fits."""
    work = Work(model, feeds, dice).learn()
    tries = [dice.choice(GENERAL)] if dice.random() < 0.4 else dice.sample(SPECIAL, len(SPECIAL))
    rule = next((rule for rule in tries if rule(work)), None)
    return (rule, work.finished()) if rule else (None, None)
