"""Random models, made of idioms that just meet or just miss the conditions of passes, proofs and doubts: one short function each."""

import random

import numpy
from drafts import BOOL, FLOAT, HALF, INT64, SIZES, Draft, Unfit
from onnx import helper

# Bytes by signed weights: without VNNI, ONNX Runtime saturates the sum of two products in 16 bits, which larger weights reach.
SEVEN_BITS = (-64, 65)
OPSETS = (11, 13, 14, 17, 17, 18, 19, 20, 21, 22, 23)
UNARY = ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Softplus", "Softsign", "Erf", "Elu", "Selu", "LeakyRelu", "HardSigmoid",
         "ThresholdedRelu", "HardSwish", "Mish", "Gelu", "Celu", "Sin", "Cos", "Atan", "Asinh", "Identity", "Exp", "Hardmax", "Swish")


# --- convolutions and what folds into them -------------------------------------------------------------------------------------------


def batch_norm(d, x, channels):
    if d.dice.random() < 0.15:
        return d.op("BatchNormalization", x, d.c(numpy.ones(channels)), d.c(numpy.zeros(channels)), d.c(numpy.zeros(channels)), d.c(numpy.ones(channels)))
    return d.op(
        "BatchNormalization", x, d.normal(channels), d.normal(channels), d.normal(channels), d.positive(channels), epsilon=d.dice.choice([None, 1e-3, 0.1])
    )


def per_channel(d, x, channels, rank):
    """An affine, or what just fails to be one."""
    dims = d.dice.choice([(1, channels) + (1,) * (rank - 2), (channels,) + (1,) * (rank - 2), (1,), (), (channels,) if channels == 8 and rank == 4 else (1,)])
    if d.dice.random() < 0.1:  # along another axis, or more than the result has
        dims = d.dice.choice([(2, 1) + (1,) * (rank - 2), (2,) + (1,) * rank, (1,) * rank + (d.dims(x)[-1] or 1,)])
    kind = d.dice.choice(["Mul", "Add", "Sub", "Div", "Neg"])
    if kind == "Neg":
        return d.op("Neg", x)
    constant = d.positive(*dims) if kind == "Div" else d.normal(*dims)
    if kind == "Mul" and d.dice.random() < 0.1:  # beyond what a weight holds
        constant = d.c(numpy.full(dims, d.dice.choice([1e38, 1e-38, 1e-42, 0.0])))
    return d.op(kind, *((x, constant) if kind == "Div" or d.dice.random() < 0.7 else (constant, x)))


def conv(d, x, weight=None, spatial=2, bias=True, out=None):
    channels = d.fixed(x, 1)
    group = d.dice.choice([1, 1, channels]) if weight is None else 1
    out = out or group * d.dice.choice([1, 2, 4] if group > 1 else [1, 4, 8])
    kernel = [d.dice.choice([1, 3, 3, 2])] * spatial
    weight = weight or d.normal(out, channels // group, *kernel, scale=0.5)
    pads = d.dice.choice([None, [kernel[0] // 2] * (2 * spatial), [0] * spatial + [1] * spatial])
    auto = d.dice.choice([None, None, None, "SAME_UPPER", "SAME_LOWER", "VALID"])
    return d.op(
        "Conv",
        x,
        weight,
        *([d.normal(out)] if bias and d.dice.random() < 0.6 else []),
        group=group if group > 1 or d.dice.random() < 0.3 else None,
        pads=None if auto else pads,
        auto_pad=auto,
        strides=d.dice.choice([None, None, [2] * spatial]) if auto is None else None
    )


def conv_batch_norm(d):
    spatial = d.dice.choice([2, 2, 2, 1, 3])
    y = conv(d, d.image(spatial=spatial), spatial=spatial)
    return batch_norm(d, y, d.fixed(y, 1))


def conv_affines(d):
    y = conv(d, d.image())
    channels = d.fixed(y, 1)
    for _ in range(d.dice.randrange(1, 4)):
        y = d.dice.choice([lambda y: per_channel(d, y, channels, 4), lambda y: batch_norm(d, y, channels), lambda y: d.op("Identity", y)])(y)


def batch_norm_conv(d):
    x = d.image()
    conv(d, batch_norm(d, x, d.fixed(x, 1)))


def conv_between(d):
    """Operators between a convolution and its affine, which let it through or not."""
    y = conv(d, d.image(), out=4)
    y = d.dice.choice(
        [
            lambda: d.op("Relu", y),
            lambda: d.op("Transpose", y, perm=[0, 2, 3, 1]),
            lambda: d.op("MaxPool", y, kernel_shape=[2, 2]),
            lambda: d.op("AveragePool", y, kernel_shape=[2, 2], pads=[1, 1, 1, 1]),
            lambda: d.op("GlobalAveragePool", y),
            lambda: d.op("Pad", y, d.ints(0, 0, 1, 1, 0, 0, 1, 1)),
            lambda: d.op("Slice", y, d.ints(1), d.ints(3), d.ints(1)),
            lambda: d.op("Reshape", y, d.ints(0, 4, -1)),
            lambda: d.op("Concat", y, d.op("Neg", y), axis=1),
            lambda: d.op("Reshape", y, d.ints(0, 2, 2, -1)),
            lambda: d.op("Dropout", y),
            lambda: d.op("LeakyRelu", y, alpha=0.2),
            lambda: d.op("Clip", y, d.c(0.0), d.c(6.0)),
            lambda: d.op("Add", y, d.op("Tanh", y)),
        ]
    )()
    d.op(d.dice.choice(["Mul", "Add"]), y, d.normal(1, 4, 1, 1) if d.dice.random() < 0.5 else d.c(d.dice.choice([2.0, -0.5, 1.0, 0.0])))


def conv_shared_weight(d):
    x = d.image()
    channels = d.fixed(x, 1)
    weight = d.normal(channels, channels, 1, 1)
    first = d.op("Conv", x, weight)
    second = d.op("Conv", first if d.dice.random() < 0.7 else x, weight)
    batch_norm(d, d.dice.choice([first, second]), channels)


def conv_twice_read(d):
    y = conv(d, d.image())
    channels = d.fixed(y, 1)
    d.op("Add", batch_norm(d, y, channels), d.op("Sigmoid", y) if d.dice.random() < 0.5 else y)


def conv_captured(d):
    """A graph inside reads what an affine would change."""
    y = conv(d, d.image())
    batch_norm(d, y, d.fixed(y, 1))
    one = d.graph(lambda: [(d.op("Tanh", y), FLOAT)])
    other = d.graph(lambda: [(d.op("Neg", y), FLOAT)])
    d.op("If", condition(d, y), then_branch=one, else_branch=other)


def conv_branches(d):
    """An affine downstream of a Concat, some branch of which is no convolution."""
    x = d.image()
    first, second = conv(d, x, out=4, bias=False), None
    if d.dice.random() < 0.6:
        second = d.op("Conv", x, d.normal(2, d.fixed(x, 1), 1, 1))
    else:
        second = d.op("Relu", first)
    y = d.op("Concat", *d.dice.sample([first, second], 2), axis=1)
    batch_norm(d, y, d.fixed(y, 1)) if d.dice.random() < 0.6 else d.op(d.dice.choice(["Mul", "Add"]), y, d.normal(1, d.fixed(y, 1), 1, 1))


def batch_norm_alone(d):
    """Far from any product, or in training mode."""
    x = d.image()
    channels = d.fixed(x, 1)
    if d.opset >= 14 and d.dice.random() < 0.4:
        y = conv(d, x)
        channels = d.fixed(y, 1)
        d.op("BatchNormalization", y, d.normal(channels), d.normal(channels), d.normal(channels), d.positive(channels), outs=3, training_mode=1)
    elif d.dice.random() < 0.5:  # parameters that nodes make
        y = conv(d, x)
        channels = d.fixed(y, 1)
        d.op("BatchNormalization", y, d.op("Abs", d.normal(channels)), d.normal(channels), d.input(numpy.float32, (channels,)), d.positive(channels))
    else:
        batch_norm(d, d.op("Tanh", x), channels)


def conv_transposed_weight(d):
    """A weight read through a Transpose, whose order is channels-last or another one; shared with another reader, or not."""
    x = d.image()
    channels = d.fixed(x, 1)
    perm = d.dice.choice([[0, 3, 1, 2], [3, 2, 0, 1], [0, 1, 3, 2]])
    dims = (4, channels, 3, 3)
    stored = [0] * 4
    for i, axis in enumerate(perm):
        stored[axis] = dims[i]
    weight = d.normal(*stored)
    d.op("Conv", x, d.op("Transpose", weight, perm=perm))
    if d.dice.random() < 0.4:
        d.op("ReduceMean", weight, keepdims=0)


def conv_guard(d):
    """An addend that keeps a logarithm or divisor off 0 stands where a bias would take it up."""
    if d.dice.random() < 0.4:
        x = d.image()
        weight = d.c(d.random.random((2, d.fixed(x, 1), 1, 1)))
        y = d.op("Conv", d.op("Sigmoid", x), weight, *([d.positive(2)] if d.dice.random() < 0.5 else []))
        d.op(d.dice.choice(["Log", "Sqrt", "Reciprocal"]), d.op("Add", y, d.c(d.dice.choice([1e-9, 1e-5]))))
        return
    y = d.op("Relu", conv(d, d.image())) if d.dice.random() < 0.5 else conv(d, d.image())
    y = d.op("Abs", y) if d.dice.random() < 0.5 else d.op("Mul", y, y)
    y = d.op("Add", y, d.c(d.dice.choice([1e-9, 1e-5, 1e-3])))
    d.op(d.dice.choice(["Log", "Sqrt", "Reciprocal"]), y)


def conv_weight_chain(d):
    """A weight that is computed out of constants."""
    x = d.image()
    channels = d.fixed(x, 1)
    weight = d.dice.choice(
        [
            lambda: d.op("Transpose", d.normal(3, 3, channels, 4), perm=[3, 2, 0, 1]),
            lambda: d.op("Mul", d.normal(4, channels, 3, 3), d.positive(4, 1, 1, 1)),
            lambda: d.op("Identity", d.normal(4, channels, 1, 1)),
            lambda: d.op("Reshape", d.normal(4 * channels * 9), d.ints(4, channels, 3, 3)),
            lambda: d.op("Cast", d.c(d.random.standard_normal((4, channels, 3, 3)), numpy.float16), to=FLOAT),
        ]
    )()
    batch_norm(d, d.op("Conv", x, weight), 4)


def conv_transpose(d):
    x = d.image()
    channels, group = d.fixed(x, 1), 1
    y = d.op(
        "ConvTranspose",
        x,
        d.normal(channels, 3, *d.dice.choice([(2, 2), (3, 3)]), scale=0.5),
        *([d.normal(3)] if d.dice.random() < 0.5 else []),
        group=group,
        strides=d.dice.choice([None, [2, 2]]),
        pads=d.dice.choice([None, [1, 1, 0, 0], [1, 1, 1, 1]]),
        output_padding=d.dice.choice([None, None, [1, 1]])
    )
    if d.dice.random() < 0.7:
        batch_norm(d, y, 3) if d.dice.random() < 0.5 else per_channel(d, y, 3, 4)


def gemm(d):
    x = d.find(test=lambda a: a[0].ndim == 2 and a[0].shape[1] == a[1].shape[1] <= 64) or d.input(numpy.float32, ("N", 8))
    width, out = d.fixed(x, 1), d.dice.choice([4, 8])
    flipped = d.dice.random() < 0.5
    y = d.op(
        "Gemm",
        x,
        d.normal(*((out, width) if flipped else (width, out)), scale=0.4),
        *([d.dice.choice([d.normal(out), d.normal(1, out), d.c(0.5)])] if d.dice.random() < 0.7 else []),
        transB=1 if flipped else None,
        alpha=d.dice.choice([None, None, 0.5]),
        beta=d.dice.choice([None, None, 2.0])
    )
    if d.dice.random() < 0.6:
        batch_norm(d, y, out) if d.dice.random() < 0.5 else d.op(d.dice.choice(["Mul", "Add", "Sub"]), y, d.normal(out))


def matmul(d):
    x = d.rows()
    width, out = d.fixed(x, -1), d.dice.choice([4, 6, 8])
    y = d.op("MatMul", x, d.normal(width, out, scale=0.4))
    for _ in range(d.dice.randrange(3)):
        y = d.op(d.dice.choice(["Mul", "Add", "Sub"]), *d.dice.sample([y, d.dice.choice([d.normal(out), d.c(0.25), d.normal(1, out)])], 2))


def matmul_two(d):
    """Two products by constants, one after the other, or beside each other and added."""
    x = d.rows()
    width = d.fixed(x, -1)
    first = d.op("MatMul", x, d.normal(width, 8, scale=0.4))
    if d.dice.random() < 0.5:
        d.op("MatMul", first, d.normal(8, 4, scale=0.4))
    else:
        d.op("Add", first, d.op("MatMul", x, d.normal(width, 8, scale=0.4)))


# --- pools, resizes, other operators on images -----------------------------------------------------------------------------------------


def pool(d):
    x = d.image()
    kind = d.dice.choice(["MaxPool", "AveragePool", "MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool"])
    if kind.startswith("Global"):
        y = d.op(kind, x)
        if d.dice.random() < 0.5:
            d.op("Flatten", y)
        return
    if d.dice.random() < 0.25:
        x = d.op("Pad", x, d.ints(0, 0, 1, 1, 0, 0, 1, 1), d.c(d.dice.choice([0.0, -1.0])))
    d.op(
        kind,
        x,
        kernel_shape=d.dice.choice([[2, 2], [3, 3], [1, 1], [3, 1]]),
        strides=d.dice.choice([None, [2, 2], [3, 2]]),
        pads=d.dice.choice([None, [1, 1, 1, 1], [0, 0, 1, 1]]) if d.dice.random() < 0.8 else None,
        ceil_mode=d.dice.choice([None, 1]) if kind != "LpPool" else None,
        count_include_pad=d.dice.choice([0, 1]) if kind == "AveragePool" else None,
    )


def resize(d):
    x = d.image()
    mode = d.dice.choice(["nearest", "linear", "linear", "cubic"])
    coordinates = d.dice.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    nearest = d.dice.choice(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"]) if mode == "nearest" else None
    if d.dice.random() < 0.7:
        d.op(
            "Resize",
            x,
            None,
            d.c([1, 1, *d.dice.choice([(2, 2), (1.5, 1.5), (0.5, 0.5), (1, 3)])]),
            mode=mode,
            coordinate_transformation_mode=coordinates,
            nearest_mode=nearest,
        )
    else:
        shape = d.op("Shape", x)
        front = d.op("Slice", shape, d.ints(0), d.ints(2), d.ints(0))
        d.op("Resize", x, None, None, d.op("Concat", front, d.ints(6, 5), axis=0), mode=mode, coordinate_transformation_mode=coordinates, nearest_mode=nearest)


def space_depth(d):
    x = d.image(channels=8) if d.dice.random() < 0.5 else d.image(channels=4)
    d.op("DepthToSpace", x, blocksize=2, mode=d.dice.choice(["DCR", "CRD"])) if d.dice.random() < 0.6 else d.op("SpaceToDepth", x, blocksize=2)


def instance_norm(d):
    x = d.image()
    channels = d.fixed(x, 1)
    kind = d.dice.randrange(4)
    if kind == 0:
        d.op("InstanceNormalization", x, d.normal(channels), d.normal(channels), epsilon=d.dice.choice([None, 1e-3]))
    elif kind == 1:
        d.op("LRN", x, size=3, alpha=d.dice.choice([None, 0.1]), bias=d.dice.choice([None, 2.0]))
    elif kind == 2:
        d.op("PRelu", x, d.normal(channels, 1, 1))
    else:
        d.op("GroupNormalization", d.image(channels=4), d.normal(4), d.normal(4), num_groups=2)


# --- elements ---------------------------------------------------------------------------------------------------------------------------


def unary(d):
    d.op(d.dice.choice(UNARY), d.any())


def activation_edge(d):
    """Attributes at their edges, written at their defaults or beside them."""
    x = d.any()
    kind, attributes = d.dice.choice(
        [
            ("LeakyRelu", {"alpha": 0.01}),
            ("LeakyRelu", {"alpha": 1.0}),
            ("Elu", {"alpha": 1.0}),
            ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
            ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
            ("Selu", {}),
            ("ThresholdedRelu", {"alpha": 0.0}),
            ("Celu", {"alpha": 2.0}),
            ("Softmax", {"axis": -1}),
            ("Softmax", {"axis": 1}),
            ("LogSoftmax", {"axis": -1}),
            ("Gelu", {"approximate": "tanh"}),
            ("Shrink", {"bias": 0.0, "lambd": 0.5}),
            ("Hardmax", {"axis": -1}),
            ("LpNormalization", {"axis": -1, "p": 1}),
        ]
    )
    d.op(kind, x, **attributes)


def binary(d):
    x = d.any()
    dims = d.dims(x)
    last = dims[-1] if dims and dims[-1] else 1
    kind = d.dice.choice(["Add", "Mul", "Sub", "Div", "Max", "Min", "Mean", "Sum"])
    constant = d.dice.choice(
        [lambda: d.positive(last), lambda: d.positive(1, last), lambda: d.c(d.dice.choice([0.5, 2.0, -1.0, 1.0, 3.0])), lambda: d.positive()]
    )()
    d.op(kind, *((x, constant) if d.dice.random() < 0.7 or kind in ("Div",) else (constant, x)))


def two_values(d):
    x = d.any()
    shape = d.dims(x)
    y = d.find(test=lambda a: tuple(m if m == n else None for m, n in zip(a[0].shape, a[1].shape)) == shape) or d.op("Tanh", x)
    d.op(d.dice.choice(["Add", "Mul", "Sub", "Max", "Min", "Sum"]), x, y)


def neutral(d):
    """What changes nothing, or nearly nothing."""
    x = d.any()
    d.dice.choice(
        [
            lambda: d.op("Add", x, d.c(0.0)),
            lambda: d.op("Mul", x, d.c(1.0)),
            lambda: d.op("Div", x, d.c([1.0])),
            lambda: d.op("Pow", x, d.c(1.0)),
            lambda: d.op("Identity", d.op("Identity", x)),
            lambda: d.op("Cast", x, to=FLOAT),
            lambda: d.op("Dropout", x),
            lambda: d.op("Neg", d.op("Neg", x)),
            lambda: d.op("Relu", d.op("Relu", x)),
            lambda: d.op("Mul", x, d.c(0.99999)),
            lambda: d.op("Transpose", d.op("Transpose", x)),
            lambda: d.op("Reshape", x, d.op("Shape", x)),
            lambda: d.op("Concat", x, axis=0),
            lambda: d.op("Sum", x),
            lambda: d.op("Max", x),
            lambda: d.op("Add", x, d.c(numpy.zeros((1,) * d.rank(x)))),
            lambda: d.op("Slice", x, d.ints(0), d.ints(2**31 - 1), d.ints(0)),
            lambda: d.op("Pad", x, d.ints(*[0] * (2 * d.rank(x)))),
            lambda: d.op("Expand", x, d.ints(1)),
        ]
    )()


def clip(d):
    x = d.any()
    low, high = d.dice.choice([(0.0, 6.0), (-1.0, 1.0), (None, 3.0), (0.0, None), (-3.0, 3.0), (-100.0, 100.0), (0.0, 0.0)])
    if d.dice.random() < 0.3:
        y = d.op("Max", x, d.c(low if low is not None else -5.0))
        d.op("Min", y, d.c(high if high is not None else 5.0))
    else:
        d.op("Clip", x, d.c(low) if low is not None else None, *([d.c(high)] if high is not None else []))


def square_root(d):
    """A guard in front of a root, a logarithm or a divisor."""
    x = d.rows()
    u = d.op("Mul", x, x) if d.dice.random() < 0.5 else d.op("Pow", x, d.c(2.0))
    s = d.reduce(d.dice.choice(["ReduceSum", "ReduceMean"]), u, [-1])
    guard = d.dice.choice([1e-12, 1e-6, 1e-5, 1e-3])
    t = d.op("Add", s, d.c(guard)) if d.dice.random() < 0.6 else d.op("Max", s, d.c(guard))
    q = d.dice.choice([lambda: d.op("Sqrt", t), lambda: d.op("Pow", t, d.c(0.5)), lambda: d.op("Reciprocal", d.op("Sqrt", t)), lambda: d.op("Log", t)])()
    d.op(d.dice.choice(["Div", "Mul", "Add"]), x, q) if d.dice.random() < 0.8 else None


def logarithm(d):
    x = d.any()
    p = d.dice.choice([lambda: d.op("Sigmoid", x), lambda: d.op("Softmax", x, axis=-1), lambda: d.op("Relu", x), lambda: d.op("Abs", x)])()
    if d.dice.random() < 0.3:
        p = d.op("Sub", d.c(1.0), d.op("Sigmoid", x))
    p = d.dice.choice(
        [lambda: d.op("Add", p, d.c(d.dice.choice([1e-7, 1e-5, 1e-2]))), lambda: d.op("Clip", p, d.c(1e-6), d.c(1.0)), lambda: d.op("Max", p, d.c(1e-4))]
    )()
    d.op("Log", p)


def divisor(d):
    x = d.rows()
    n = d.reduce(d.dice.choice(["ReduceL2", "ReduceL1", "ReduceMax", "ReduceSumSquare"]), x, [-1])
    n = d.dice.choice([lambda: d.op("Add", d.op("Abs", n), d.c(1e-6)), lambda: d.op("Clip", n, d.c(1e-3)), lambda: d.op("Max", n, d.c(1e-12))])()
    d.op("Div", x, n)


def powers(d):
    x = d.any()
    (
        d.op("Pow", d.op("Abs", x) if d.dice.random() < 0.5 else x, d.c(d.dice.choice([2.0, 3.0, 1.0, 0.0])))
        if d.dice.random() < 0.6
        else d.op("Pow", d.op("Add", d.op("Abs", x), d.c(1e-4)), d.c(d.dice.choice([0.5, -1.0, 0.75])))
    )


def where(d):
    x = d.any()
    k = d.c(d.dice.choice([0.0, 0.5, -1.0, 2.5]))
    c = d.op(d.dice.choice(["Less", "Greater"] + (["LessOrEqual", "GreaterOrEqual"] if d.opset >= 12 else [])), x, k)
    if d.dice.random() < 0.3:
        c = d.op("Not", c) if d.dice.random() < 0.5 else d.op(d.dice.choice(["And", "Or", "Xor"]), c, d.op("Less", x, d.c(1.5)))
    if d.dice.random() < 0.3:
        d.op("Mul", x, d.op("Cast", c, to=FLOAT))
    else:
        d.op("Where", c, *d.dice.sample([x, d.c(d.dice.choice([0.0, -1.0, -1000.0])) if d.dice.random() < 0.5 else d.op("Tanh", x)], 2))


def gelu(d):
    x = d.any()
    if d.dice.random() < 0.6:
        e = d.op("Erf", d.op("Div", x, d.c(2**0.5)))
        y = d.op("Mul", x, d.op("Add", e, d.c(1.0)))
        d.op("Mul", y, d.c(0.5))
    elif d.dice.random() < 0.5:
        d.op("Mul", x, d.op("Sigmoid", d.op("Mul", x, d.c(1.702))))
    else:
        d.op("Mul", x, d.op("Tanh", d.op("Softplus", x)))


# --- rows: normalizations, attention, reductions ---------------------------------------------------------------------------------------


def layer_norm(d):
    x = d.rows()
    width = d.fixed(x, -1)
    if d.opset >= 17 and d.dice.random() < 0.5:
        return d.op(
            "LayerNormalization", x, d.positive(width), *([d.normal(width)] if d.dice.random() < 0.6 else []), epsilon=d.dice.choice([None, 1e-3, 1e-12])
        )
    z = d.op("Sub", x, d.reduce("ReduceMean", x, [-1]))
    v = d.reduce("ReduceMean", d.op("Mul", z, z), [-1])
    n = d.op("Div", z, d.op("Sqrt", d.op("Add", v, d.c(1e-5))))
    return d.op("Add", d.op("Mul", n, d.positive(width)), d.normal(width))


def rms_norm(d):
    x = d.rows()
    v = d.reduce("ReduceMean", d.op("Pow", x, d.c(2.0)), [-1])
    n = d.op("Mul", x, d.op("Reciprocal", d.op("Sqrt", d.op("Add", v, d.c(1e-6)))))
    d.op("Mul", n, d.positive(d.fixed(x, -1)))


def softmax(d):
    x = d.any()
    if d.dice.random() < 0.5:
        return d.op(d.dice.choice(["Softmax", "LogSoftmax"]), x, axis=-1)
    e = d.op("Exp", d.op("Sub", x, d.reduce("ReduceMax", x, [-1])))
    return d.op("Div", e, d.reduce("ReduceSum", e, [-1]))


def attention(d):
    x = d.input(numpy.float32, (2, "S", 8)) if d.dice.random() < 0.5 else d.rows(width=8)
    if d.rank(x) != 3:
        raise Unfit("two dims")
    q, k, v = (
        d.op("Transpose", d.op("Reshape", d.op("MatMul", x, d.normal(8, 8, scale=0.3)), d.ints(0, -1 if d.dice.random() < 0.5 else 0, 2, 4)), perm=[0, 2, 1, 3])
        for _ in range(3)
    )
    scores = d.op("MatMul", q, d.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = d.op("Div", scores, d.c(2.0)) if d.dice.random() < 0.5 else d.op("Mul", scores, d.c(0.5))
    if d.dice.random() < 0.5:
        mask = d.input(numpy.int64, (2, "S"), 2)
        m = d.op("Mul", d.op("Sub", d.c(1.0), d.op("Cast", d.unsqueeze(mask, 1, 2), to=FLOAT)), d.c(d.dice.choice([-10000.0, -1e9])))
        scores = d.op("Add", scores, m)
    y = d.op("MatMul", d.op("Softmax", scores, axis=-1), v)
    y = d.op("Reshape", d.op("Transpose", y, perm=[0, 2, 1, 3]), d.ints(0, 0, 8))
    d.op("Add", d.op("MatMul", y, d.normal(8, 8, scale=0.3)), d.normal(8))


def reduce(d):
    x = d.any()
    rank = d.rank(x)
    axes = d.dice.choice([[-1], [0], [rank - 1], list(range(1, rank)) or [0]])
    d.reduce(
        d.dice.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL1"]),
        x,
        axes,
        d.dice.choice([0, 1]),
    )


def einsum(d):
    x = d.rows(width=8)
    equation = {2: ("bi,ij->bj", (8, 4)), 3: ("bsi,ij->bsj", (8, 4))}[d.rank(x)]
    d.op("Einsum", x, d.normal(*equation[1], scale=0.4), equation=equation[0])


def cumulate(d):
    x = d.rows()
    d.op("CumSum", x, d.c(d.dice.choice([0, -1, 1]), numpy.int64), exclusive=d.dice.choice([None, 1]), reverse=d.dice.choice([None, 1]))


def recurrent(d):
    x = d.input(numpy.float32, ("S", 2, 4))
    kind, gates = d.dice.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    outs = d.op(
        kind,
        x,
        d.normal(1, gates * 3, 4, scale=0.5),
        d.normal(1, gates * 3, 3, scale=0.5),
        *([d.normal(1, gates * 6)] if d.dice.random() < 0.7 else []),
        outs=2,
        hidden_size=3,
        linear_before_reset=d.dice.choice([None, 1]) if kind == "GRU" else None,
        clip=d.dice.choice([None, None, 1.0]) if kind != "LSTM" else None
    )  # ONNX Runtime's LSTM clips less than the standard says
    d.squeeze(outs[0], 1)


# --- dims ---------------------------------------------------------------------------------------------------------------------------------


def reshape(d):
    x = d.any()
    rank = d.rank(x)
    targets = [(0, -1), (-1,), (0, 0, -1), (1, -1), (-1, 1), (-1, 2), (2, -1), (-1, 8), (-1, 4)]
    if rank == 4:
        targets += [(0, 0, -1), (0, -1, 1, 1)]
    d.op("Reshape", x, d.ints(*d.dice.choice(targets)))


def shape_chain(d):
    x = d.any()
    shape = d.op("Shape", x)
    n = d.op("Gather", shape, d.c(d.dice.choice([0, -1, 1]), numpy.int64), axis=0)
    n = d.unsqueeze(n, 0)
    if d.dice.random() < 0.3:
        n = d.op("Mul", n, d.ints(1))
    d.op("Reshape", x, d.op("Concat", *d.dice.sample([n, d.ints(-1)], 2), axis=0))


def shape_numbers(d):
    """Numbers that sizes decide."""
    x = d.any()
    shape = d.op("Shape", x)
    n = d.op("Cast", d.op("Gather", shape, d.c(d.dice.choice([0, -1]), numpy.int64), axis=0), to=FLOAT)
    d.op(d.dice.choice(["Mul", "Div", "Add"]), x, d.op("Sqrt", n) if d.dice.random() < 0.5 else n)


def size_compared(d):
    x = d.any()
    n = d.op("Gather", d.op("Shape", x), d.c(d.dice.choice([0, -1]), numpy.int64), axis=0)
    c = d.op(d.dice.choice(["Greater", "Less", "Equal"]), n, d.c(d.dice.choice([3, 5, 8, 100]), numpy.int64))
    d.op("Where", c, x, d.op("Neg", x))


def expand(d):
    x = d.rows()
    shape = d.op("Shape", x)
    (
        d.op("Add", x, d.op("Expand", d.c(d.dice.choice([1.0, 0.5])), shape))
        if d.dice.random() < 0.5
        else d.op("Mul", x, d.op("ConstantOfShape", shape, value=helper.make_tensor("", FLOAT, [1], [d.dice.choice([1.0, 3.0])])))
    )


def positions(d):
    """A Range over a free dim: positions, a causal mask."""
    x = d.rows()
    n = d.op("Gather", d.op("Shape", x), d.c(-1, numpy.int64), axis=0)
    r = d.op("Range", d.c(0, numpy.int64), n, d.c(1, numpy.int64))
    if d.dice.random() < 0.5:
        d.op("Add", x, d.op("Cast", r, to=FLOAT))
    else:
        d.op("Where", d.op(d.dice.choice(["Less", "Greater"]), r, d.c(d.dice.choice([2, 3, 7]), numpy.int64)), x, d.c(d.dice.choice([0.0, -5.0])))


def slices(d):
    x = d.any()
    axis = d.dice.randrange(d.rank(x))
    start, end, step = d.dice.choice([(0, 2, 1), (1, 2**31 - 1, 1), (-1, -(2**31), -1), (0, -1, 1), (0, 100, 2), (-2, 2**63 - 1, 1), (1, 3, 1), (0, 512, 1)])
    d.op(
        "Slice",
        x,
        d.ints(start),
        d.ints(end),
        d.ints(axis if d.dice.random() < 0.5 else axis - d.rank(x)),
        *([d.ints(step)] if step != 1 or d.dice.random() < 0.5 else [])
    )


def split_concat(d):
    x = d.rows() if d.dice.random() < 0.6 else d.image()
    axis = -1 if d.rank(x) < 4 else 1
    size = d.fixed(x, axis)
    if size < 2:
        raise Unfit("one channel")
    first = d.dice.randrange(1, size)
    a, b = d.split(x, [first, size - first], axis)
    d.op("Concat", *d.dice.choice([(a, b), (b, a), (d.op("Tanh", a), b)]), axis=axis)


def transposes(d):
    x = d.any()
    perm = list(range(d.rank(x)))
    d.dice.shuffle(perm)
    y = d.op("Transpose", x, perm=perm)
    if d.dice.random() < 0.5:
        y = d.op(d.dice.choice(["Relu", "Tanh", "Neg"]), y)
        d.op("Transpose", y, perm=[perm.index(i) for i in range(len(perm))])


def pad(d):
    x = d.any()
    rank = d.rank(x)
    if not rank:
        raise Unfit("no dims")
    pads = [0] * (2 * rank)
    pads[rank - 1], pads[-1] = d.dice.choice([(1, 1), (0, 2), (2, 1)])
    mode = d.dice.choice(["constant", "constant", "edge", "reflect"])
    d.op("Pad", x, d.ints(*pads), *([d.c(d.dice.choice([0.0, 1.0]))] if mode == "constant" and d.dice.random() < 0.6 else []), mode=mode)


def squeezes(d):
    x = d.any()
    y = d.unsqueeze(x, d.dice.choice([0, -1, 1]))
    d.squeeze(y, d.dice.choice([0, -1, 1])) if d.dice.random() < 0.6 else d.op("Tile", y, d.ints(*[d.dice.choice([1, 2]) for _ in range(d.rank(x) + 1)]))


def gather(d):
    x = d.any()
    axis = d.dice.randrange(d.rank(x))
    d.op(
        "Gather",
        x,
        d.dice.choice([lambda: d.c(0, numpy.int64), lambda: d.ints(-1, 0), lambda: d.ints(1), lambda: d.c([[0, 1]], numpy.int64), lambda: d.ints(0, 0, 1)])(),
        axis=axis,
    )


# --- integers --------------------------------------------------------------------------------------------------------------------------


def embedding(d):
    high = d.dice.choice([16, 40])
    d.op("Gather", d.normal(high, 8), d.ids(high), axis=d.dice.choice([None, 0]))


def ids_compared(d):
    high = 5000 if d.dice.random() < 0.3 else 16
    x = d.input(numpy.int64, ("N", "S"), high) if high == 5000 else d.ids(high)
    k = d.c(d.dice.choice([high - 2, 3, 0, 7]), numpy.int64)
    e = d.op(d.dice.choice(["Equal", "Equal", "Less", "Greater"]), x, k)
    if d.dice.random() < 0.5:
        d.op("Where", e, d.c(d.dice.choice([0.0, -100.0])), d.op("Cast", x, to=FLOAT))
    else:
        d.op("ArgMax", d.op("Cast", e, to=6), axis=-1, keepdims=d.dice.choice([0, 1]))


def ids_arithmetic(d):
    x = d.ids()
    k = d.c(d.dice.choice([1, 2, 3, 5]), numpy.int64)
    y = d.op(d.dice.choice(["Add", "Mul", "Sub", "Div"] + (["Mod", "Min", "Max"] if d.opset >= 12 else [])), x, k)
    if d.dice.random() < 0.5:
        d.op("Cast", y, to=FLOAT)


def time_step(d):
    t = d.input(numpy.int64, ("N",), 1000)
    u = d.unsqueeze(d.op("Mul", d.op("Cast", t, to=FLOAT), d.c(d.dice.choice([1.0, 0.001, 1000.0]))), 1)
    a = d.op("Mul", u, d.c([1, 0.1, 0.01, 0.001]))
    d.op("Concat", d.op("Sin", a), d.op("Cos", a), axis=-1)


def one_hot(d):
    d.op("OneHot", d.ids(6), d.c(6, numpy.int64), d.c([0.0, 1.0]), axis=-1)


def masked(d):
    """A mask of ones and zeros, as tokenizers make them."""
    m = d.op("Cast", d.input(numpy.int64, ("N", "S"), 2), to=FLOAT)
    n = d.reduce("ReduceSum", m, [1])
    d.op("Div", m, d.op("Clip", n, d.c(1e-9)) if d.dice.random() < 0.5 else d.op("Max", n, d.c(1.0)))


def choice(d):
    """Dims and integers downstream of a choice."""
    x = d.rows()
    kind = d.dice.randrange(5)
    if kind == 0:
        d.op(
            "ArgMax" if d.dice.random() < 0.5 else "ArgMin",
            x,
            axis=-1,
            keepdims=d.dice.choice([0, 1]),
            select_last_index=d.dice.choice([None, 1]) if d.opset >= 12 else None,
        )
    elif kind == 1:
        values, indices = d.op("TopK", x, d.ints(2), outs=2, axis=-1, largest=d.dice.choice([None, 0, 1]))
        if d.dice.random() < 0.5:
            d.op("GatherElements", x, indices, axis=-1)
    elif kind == 2:
        d.op("Cast", d.op("Mul", x, d.c(10.0)), to=d.dice.choice([INT64, 6, BOOL]))
    elif kind == 3:
        d.op("Cast", d.op("Greater", x, d.c(0.25)), to=INT64)
    else:
        d.op("NonZero", d.op("Greater", x, d.c(0.5)))


def scatter(d):
    x = d.rows()
    if d.rank(x) != 2:
        raise Unfit("three dims")
    if d.dice.random() < 0.5:
        d.op("ScatterElements", x, d.c([[1, 0]], numpy.int64), d.normal(1, 2), axis=1)
    else:
        d.op("ScatterND", x, d.c([[0, 1], [1, 0]], numpy.int64), d.normal(2))


def triangle(d):
    x = d.rows()
    d.op("Trilu", x, d.c(d.dice.choice([0, 1, -1]), numpy.int64), upper=d.dice.choice([0, 1]))


# --- graphs inside, functions, sequences -----------------------------------------------------------------------------------------------


def condition(d, x):
    """Nearly always decided in one way, or in both."""
    m = d.op("ReduceMax", x, keepdims=0) if d.opset < 18 or d.dice.random() < 0.5 else d.op("ReduceMax", x, keepdims=0)
    return d.op(d.dice.choice(["Greater", "Less"]), m, d.c(d.dice.choice([0.0, 1.0, 2.5, 50.0])))


def if_else(d):
    x = d.any()
    if d.dice.random() < 0.3:
        t = d.input(numpy.int64, (), 20000)
        c = d.op("Equal", t, d.c(16000, numpy.int64))
    elif d.dice.random() < 0.3:
        n = d.op("Gather", d.op("Shape", x), d.c(-1, numpy.int64), axis=0)
        c = d.op(d.dice.choice(["Equal", "Greater"]), n, d.c(d.dice.choice([1, 4, 8]), numpy.int64))
    else:
        c = condition(d, x)
    k = d.c(d.dice.choice([2.0, 0.5, -1.0]))
    one = d.graph(lambda: [(d.op(d.dice.choice(["Mul", "Add"]), x, k), FLOAT)])
    other = d.graph(lambda: [(d.op(d.dice.choice(["Tanh", "Neg", "Identity"]), x), FLOAT)])
    d.op("If", c, then_branch=one, else_branch=other)


def loop(d):
    x = d.rows()
    w = d.c(d.dice.choice([0.5, 0.9]))
    state, go, count = d.name("s"), d.name("g"), d.name("i")

    def body():
        y = d.op("Mul", state, w)
        y = d.op("Add", y, x) if d.dice.random() < 0.5 else d.op("Tanh", y)
        stays = d.op("Identity", go) if d.dice.random() < 0.6 else d.op("Less", d.op("ReduceMax", y, keepdims=0), d.c(d.dice.choice([3.0, 0.5])))
        return [(stays, BOOL), (y, FLOAT)]

    graph = d.graph(body, [(count, INT64, []), (go, BOOL, []), (state, FLOAT, None)])
    d.op("Loop", d.c(d.dice.choice([1, 3]), numpy.int64), d.c(True, numpy.bool_), x, body=graph)


def scan(d):
    x = d.input(numpy.float32, ("S", 4))
    state, item = d.name("s"), d.name("e")

    def body():
        y = d.op("Add", d.op("Mul", state, d.c(0.5)), item)
        return [(y, FLOAT), (d.op("Tanh", y), FLOAT)]

    graph = d.graph(body, [(state, FLOAT, [4]), (item, FLOAT, [4])])
    d.op("Scan", d.normal(4), x, outs=2, body=graph, num_scan_inputs=1)


def function(d):
    x = d.any()
    scale = d.dice.choice([0.5, 2.0])

    def make(f):
        k = d.op("Constant", value_float=scale)
        y = d.op("Mul", f, k)
        return d.op("Add", y, d.op("Sigmoid", f)) if d.dice.random() < 0.5 else d.op("Tanh", y)

    name = d.function(1, make)
    y = d.op(name, x, domain="local")
    if d.dice.random() < 0.4:
        d.op(name, y, domain="local")


def function_batch_norm(d):
    """A call between a convolution and its BatchNormalization."""
    y = conv(d, d.image(), out=4)
    name = d.function(1, lambda f: d.op(d.dice.choice(["Identity", "Relu", "Neg"]), f))
    batch_norm(d, d.op(name, y, domain="local"), 4)


def sequence(d):
    x = d.rows()
    if d.dice.random() < 0.5:
        s = d.op("SequenceConstruct", x, d.op("Neg", x))
        d.op("SequenceAt", s, d.c(d.dice.choice([0, 1, -1]), numpy.int64))
    else:
        s = d.op("SplitToSequence", x, axis=d.rank(x) - 1, keepdims=1)
        d.op("ConcatFromSequence", s, axis=d.dice.choice([0, -1]))


# --- quantizers, types -----------------------------------------------------------------------------------------------------------------


def quantize_dequantize(d):
    x = d.any()
    signed = d.dice.random() < 0.5
    scale, zero = d.c(d.dice.choice([0.03, 0.05])), d.c(0 if signed else 128, numpy.int8 if signed else numpy.uint8)
    y = d.op("DequantizeLinear", d.op("QuantizeLinear", x, scale, zero), scale, zero)
    if d.rank(x) == 4:
        channels = d.fixed(x, 1)
        w = d.c(d.random.integers(-127, 128, (4, channels, 3, 3)), numpy.int8)
        w = (
            d.op("DequantizeLinear", w, d.c(d.random.random(4) * 0.01 + 0.005), d.c(numpy.zeros(4), numpy.int8), axis=0)
            if d.opset >= 13
            else d.op("DequantizeLinear", w, d.c(0.01), d.c(0, numpy.int8))
        )
        batch_norm(d, d.op("Conv", y, w, d.normal(4)), 4) if d.dice.random() < 0.3 else d.op("Conv", y, w)


def quantize_dynamic(d):
    x = d.rows()
    q, scale, zero = d.op("DynamicQuantizeLinear", x, outs=3)
    w = d.c(d.random.integers(0, 255, (d.fixed(x, -1), 4)), numpy.uint8)
    p = d.op("MatMulInteger", q, w, zero, d.c(128, numpy.uint8))
    d.op("Mul", d.op("Cast", p, to=FLOAT), d.op("Mul", scale, d.c(0.01)))


def quantized_conv(d):
    x = d.image()
    channels = d.fixed(x, 1)
    sx, zx = d.c(0.04), d.c(120, numpy.uint8)
    q = d.op("QuantizeLinear", x, sx, zx)
    w = d.c(d.random.integers(*SEVEN_BITS, (4, channels, 3, 3)), numpy.int8)
    y = d.op(
        "QLinearConv",
        q,
        sx,
        zx,
        w,
        d.c(0.01),
        d.c(0, numpy.int8),
        d.c(0.1),
        d.c(110, numpy.uint8),
        *([d.c(d.random.integers(-500, 500, 4), numpy.int32)] if d.dice.random() < 0.5 else []),
        auto_pad="SAME_UPPER"
    )
    d.op("DequantizeLinear", y, d.c(0.1), d.c(110, numpy.uint8))


def integer_conv(d):
    x = d.image()
    channels = d.fixed(x, 1)
    q, scale, zero = d.op("DynamicQuantizeLinear", x, outs=3)
    y = d.op("ConvInteger", q, d.c(d.random.integers(0, 255, (4, channels, 3, 3)), numpy.uint8), zero, d.c(128, numpy.uint8), pads=[1, 1, 1, 1])
    d.op("Mul", d.op("Cast", y, to=FLOAT), d.op("Mul", scale, d.c(0.02)))


def half(d):
    x = d.op("Cast", d.any(), to=HALF)
    y = d.op(d.dice.choice(["Relu", "Tanh", "Sqrt", "Sigmoid"]), d.op("Abs", x)) if d.dice.random() < 0.6 else d.op("Mul", x, d.c(0.5, numpy.float16))
    d.op("Cast", y, to=FLOAT)


def double(d):
    d.op("Cast", d.op(d.dice.choice(["Tanh", "Relu", "Exp", "Sigmoid"]), d.op("Cast", d.any(), to=11)), to=FLOAT)


def microsoft(d):
    x = d.rows()
    width = d.fixed(x, -1)
    d.dice.choice(
        [
            lambda: d.op("FusedMatMul", x, d.normal(width, 4, scale=0.4), domain="com.microsoft", alpha=d.dice.choice([1.0, 0.5])),
            lambda: d.op("BiasGelu", x, d.normal(width), domain="com.microsoft"),
            lambda: d.op("QuickGelu", x, domain="com.microsoft", alpha=1.702),
            lambda: d.op("SkipLayerNormalization", x, d.op("Tanh", x), d.positive(width), d.normal(width), domain="com.microsoft", epsilon=1e-5),
            lambda: d.op("Gelu", x, domain="com.microsoft"),
            lambda: d.op("FastGelu", x, domain="com.microsoft"),
        ]
    )()


def quantized_operators(d):
    """Those of ONNX Runtime, between a quantizer and a dequantizer."""
    x = d.image()
    sx, zx, sy, zy = d.c(0.04), d.c(120, numpy.uint8), d.c(0.06), d.c(100, numpy.uint8)
    q = d.op("QuantizeLinear", x, sx, zx)
    other = d.op("QuantizeLinear", d.op("Tanh", x), sy, zy)
    kind = d.dice.randrange(5)
    if kind < 2:
        y = d.op(["QLinearAdd", "QLinearMul"][kind], q, sx, zx, other, sy, zy, sy, zy, domain="com.microsoft")
    elif kind == 2:
        y = d.op("QLinearConcat", sy, zy, q, sx, zx, other, sy, zy, axis=1, domain="com.microsoft")
    elif kind == 3:
        y = d.op("QLinearGlobalAveragePool", q, sx, zx, sy, zy, channels_last=0, domain="com.microsoft")
    else:
        y = d.op(d.dice.choice(["QLinearSigmoid", "QLinearLeakyRelu"]), q, sx, zx, sy, zy, domain="com.microsoft")
    d.op("DequantizeLinear", y, sy, zy)


def channel_scales(d):
    """Weights of 8 bits with a scale for each channel."""
    x = d.rows(width=8)
    w = d.op(
        "DequantizeLinear",
        d.c(d.random.integers(-127, 128, (8, 6)), numpy.int8),
        d.c(d.random.random(6) * 0.02 + 0.005),
        d.c(numpy.zeros(6), numpy.int8),
        axis=1,
    )
    y = d.op("MatMul", x, w)
    d.op("Add", y, d.normal(6)) if d.dice.random() < 0.5 else d.op("Relu", y)


def fused(d):
    """Operators as ONNX Runtime's optimizer fuses them."""
    kind = d.dice.randrange(3)
    if kind == 0:
        x = d.image()
        activation = d.dice.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu"])
        d.op(
            "FusedConv",
            x,
            d.normal(4, d.fixed(x, 1), 3, 3, scale=0.4),
            d.normal(4),
            activation=activation,
            pads=[1, 1, 1, 1],
            activation_params=[0.1] if activation == "LeakyRelu" else None,
            domain="com.microsoft",
        )
    elif kind == 1:
        x = d.find(test=lambda a: a[0].ndim == 2 and a[0].shape[1] == a[1].shape[1] <= 64) or d.input(numpy.float32, ("N", 8))
        d.op(
            "FusedGemm",
            x,
            d.normal(d.fixed(x, 1), 4, scale=0.4),
            d.normal(4),
            activation=d.dice.choice(["Relu", "Tanh"]),
            alpha=d.dice.choice([None, 0.5]),
            domain="com.microsoft",
        )
    else:
        x = d.input(numpy.float32, (2, "S", 8))
        q, k, v = (d.op("MatMul", x, d.normal(8, 8, scale=0.4)) for _ in range(3))
        d.op("MultiHeadAttention", q, k, v, num_heads=d.dice.choice([2, 4]), domain="com.microsoft")


def blocks(d):
    """Weights of 4 bits in blocks."""
    x = d.rows(width=32)
    packed = d.c(d.random.integers(0, 256, (6, 2, 8)), numpy.uint8)
    zeros = [d.c(d.random.integers(0, 256, (6, 1)), numpy.uint8)] if d.dice.random() < 0.5 else []
    d.op("MatMulNBits", x, packed, d.c(d.random.random((6, 2)) * 0.05 + 0.01), *zeros, K=32, N=6, bits=4, block_size=16, domain="com.microsoft")


def rare(d):
    """One of the operators that few models have."""
    x = d.rows(width=8)
    i8 = lambda *values: d.c(numpy.array(values), numpy.int64)  # noqa: E731
    square = lambda: d.op("MatMul", x, d.normal(8, 3, scale=0.4))  # noqa: E731
    d.dice.choice(
        [
            lambda: d.op("Det", d.op("Expand", d.op("Reshape", d.op("Slice", d.op("Reshape", x, i8(-1)), i8(0), i8(9)), i8(3, 3)), i8(2, 3, 3))),
            lambda: d.op("Compress", x, d.c([True, False, True, True, False, False, True, False], numpy.bool_), axis=d.rank(x) - 1),
            lambda: d.op("ReverseSequence", d.op("Transpose", d.input(numpy.float32, (4, 2, 3)), perm=[0, 1, 2]), i8(4, 2), time_axis=0, batch_axis=1),
            lambda: d.op("EyeLike", d.op("MatMul", d.input(numpy.float32, ("N", 8)), d.normal(8, 4)), dtype=FLOAT, k=d.dice.choice([0, 1])),
            lambda: d.op("Cast", d.op(d.dice.choice(["IsNaN", "IsInf"]), x), to=FLOAT),
            lambda: d.op("MeanVarianceNormalization", d.image()),
            lambda: d.op("GlobalLpPool", d.image(), p=d.dice.choice([1, 2])),
            lambda: d.op("GatherND", x, d.c([[0, 1], [1, 0]], numpy.int64)),
            lambda: d.op(
                "GridSample",
                d.input(numpy.float32, (1, 2, 5, 6)),
                d.op("Tanh", d.input(numpy.float32, (1, 4, 3, 2))),
                mode=d.dice.choice(["bilinear" if d.opset < 20 else "linear", "nearest"]),
                padding_mode=d.dice.choice(["zeros", "border", "reflection"]),
                align_corners=d.dice.choice([0, 1]),
            ),
            lambda: d.op(
                "RoiAlign",
                d.input(numpy.float32, (1, 2, 8, 8)),
                d.c([[0, 0, 5, 5], [1, 2, 7, 6]]),
                i8(0, 0),
                output_height=2,
                output_width=2,
                sampling_ratio=2,
                coordinate_transformation_mode=d.dice.choice(["half_pixel", "output_half_pixel"]) if d.opset >= 16 else None,
            ),
            lambda: d.op("Unique", d.op("Round", x), outs=4, sorted=1),
            lambda: d.op(
                "NonMaxSuppression",
                d.c([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.1, 1, 3.3]]]),
                d.op("Sigmoid", d.input(numpy.float32, (1, 1, 4))),
                i8(3),
                d.c([0.5]),
                d.c([0.2]),
            ),
            lambda: d.op("BitShift", d.op("Cast", d.ids(), to=13), d.c(1, numpy.uint64), direction=d.dice.choice(["LEFT", "RIGHT"])),
            lambda: d.op(d.dice.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), d.ids(), d.c(5, numpy.int64)),
            lambda: d.op("Mod", x, d.c(d.dice.choice([1.5, -2.0])), fmod=1),
            lambda: d.op("CenterCropPad", x, i8(d.dice.choice([4, 12])), axes=[d.rank(x) - 1]),
            lambda: d.op("LpNormalization", x, axis=-1, p=d.dice.choice([1, 2])),
            lambda: (
                d.op("DFT", d.unsqueeze(x, -1), onesided=d.dice.choice([0, 1]), axis=1)
                if d.opset < 20
                else d.op("DFT", d.unsqueeze(x, -1), None, d.c(1, numpy.int64), onesided=d.dice.choice([0, 1]))
            ),
            lambda: d.op("Mul", x, d.op(d.dice.choice(["HannWindow", "HammingWindow", "BlackmanWindow"]), d.c(8, numpy.int64), periodic=d.dice.choice([0, 1]))),
            lambda: d.op(
                "MaxUnpool",
                *d.op("MaxPool", d.input(numpy.float32, (1, 2, 6, 6)), outs=2, kernel_shape=[2, 2], strides=[2, 2]),
                kernel_shape=[2, 2],
                strides=[2, 2]
            ),
            lambda: d.op("Softmax", square(), axis=0),
            lambda: d.op("Hardmax", square(), axis=-1),
            lambda: d.op("ReduceProd", square(), keepdims=0),
            lambda: d.op("Size", x),
            lambda: d.op("CastLike", d.ids(), x),
            lambda: d.op("Shrink", x, lambd=0.5, bias=d.dice.choice([0.0, 0.2])),
            lambda: d.op("RMSNormalization", x, d.positive(8)),
            lambda: d.op("RotaryEmbedding", d.input(numpy.float32, (2, 3, 8)), d.normal(2, 3, 2), d.normal(2, 3, 2), num_heads=2),
            lambda: d.op("LogSoftmax", d.op("Flatten", x), axis=1),
            lambda: d.op("ScatterElements", x, d.op("ArgMax", x, axis=-1), d.op("Slice", x, i8(0), i8(1), i8(-1)), axis=-1),
            lambda: d.op("OptionalGetElement", d.op("Optional", x)),
            lambda: d.op("SequenceLength", d.op("SequenceConstruct", x, x)),
            lambda: d.op("SequenceAt", d.op("SequenceInsert", d.op("SequenceConstruct", x), d.op("Neg", x), d.c(0, numpy.int64)), d.c(1, numpy.int64)),
            lambda: d.op(
                "Attention",
                *(d.op("MatMul", d.input(numpy.float32, (2, "S", 8)), d.normal(8, 8)) for _ in range(3)),
                q_num_heads=2,
                kv_num_heads=2,
                is_causal=d.dice.choice([0, 1])
            ),
        ]
    )()


IDIOMS = (rare, rare, rare, rare, unary, unary, activation_edge, reduce, gemm, quantized_operators, channel_scales, fused, blocks, conv_captured,
          conv_branches, batch_norm_alone, conv_transposed_weight, conv_batch_norm, conv_affines, batch_norm_conv, conv_between, conv_shared_weight,
          conv_twice_read, conv_guard, conv_weight_chain, conv_transpose, gemm, matmul, matmul_two, pool, pool, resize, resize, space_depth, instance_norm,
          unary, activation_edge, binary, two_values, neutral, neutral, clip, square_root, logarithm, divisor, powers, where, where, gelu, layer_norm,
          rms_norm, softmax, attention, reduce, einsum, cumulate, recurrent, reshape, reshape, shape_chain, shape_numbers, size_compared, expand, positions,
          slices, slices, split_concat, transposes, pad, squeezes, gather, embedding, ids_compared, ids_compared, ids_arithmetic, time_step, one_hot, masked,
          choice, choice, scatter, triangle, if_else, if_else, loop, scan, function, function_batch_norm, sequence, quantize_dequantize, quantize_dynamic,
          quantized_conv, integer_conv, half, double, microsoft)


def draft(seed: int) -> tuple[Draft, list[str]]:
    """A model that runs, and the idioms in it: the same for the same seed."""
    dice = random.Random(seed)
    d = Draft(dice, dice.choice(OPSETS))
    wanted, names = dice.choice([1, 2, 3, 4, 6, 9]), []
    # Models are of one kind more often than of all.
    table = IDIOMS if dice.random() < 0.5 else dice.sample(IDIOMS, 8)
    for _ in range(wanted * 4):
        idiom = dice.choice(table)
        if d.attempt(idiom):
            names.append(idiom.__name__)
        if len(names) == wanted:
            break
    if not names:
        d.attempt(unary)
        names.append("unary")
    return d, names


def sizes(choice: int) -> dict:
    return {name: both[choice] for name, both in SIZES.items()}
