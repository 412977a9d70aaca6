"""Writes cases of operators of other domains, and of ConvTranspose and Resize, with what ONNX Runtime makes of them: one file per operator into FOLDER.

  python onnxruntime_operators.py FOLDER [--cases N] [--seed S] [--only NAME,…]

Each file is a model whose nodes are the cases. Operands are initializers that are graph inputs too, `CASE.inN`, unless they are constants, `CASE.inN.fixed`; the results of ONNX Runtime's
CPU provider, without optimization, are initializers that no node reads, `CASE.outN.expected`. composed_test.cpp runs them.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MS, ML = "com.microsoft", "ai.onnx.ml"


class Case:
    """One node: operands (None: absent), attributes, number of outputs; `absent` outputs are not asked for."""

    def __init__(self, op, inputs, outputs=1, domain=MS, opset=17, absent=(), same_as=None, fixed=False, ml=1, **attributes):
        self.op, self.inputs, self.outputs, self.domain, self.opset = op, inputs, outputs, domain, opset
        self.ml = ml  # version of ai.onnx.ml
        self.fixed = fixed  # all operands except the first are constants
        self.same_as = same_as  # if the CPU provider lacks the operator: a case of the same results, and a change to them
        self.absent, self.attributes = absent, {k.rstrip("_"): v for k, v in attributes.items() if v is not None}


def dims(rng, rank, most=5):
    return [int(d) for d in rng.integers(1, most + 1, rank)]


def normal(rng, shape, scale=1.0, dtype=np.float32):
    return (rng.standard_normal(shape) * scale).astype(dtype)


def maybe(rng, value, chance=0.5):
    return value if rng.random() < chance else None


OPERATORS = {}


def operator(function):
    OPERATORS[function.__name__] = function
    return function


# Products and activations in one ---------------------------------------------------------------------------------------------------------


def convolution(rng, channels_last=False):
    spatial = int(rng.integers(1, 3)) if not channels_last else 2
    group = int(rng.choice([1, 1, 2, 3]))
    inputs, outputs = group * int(rng.integers(1, 4)), group * int(rng.integers(1, 4))
    kernel = [int(k) for k in rng.integers(1, 4, spatial)]
    size = [int(s) for s in rng.integers(5, 9, spatial)]
    x = normal(rng, [int(rng.integers(1, 3)), inputs] + size)
    w = normal(rng, [outputs, inputs // group] + kernel)
    attributes = {"group": group, "kernel_shape": maybe(rng, kernel), "strides": maybe(rng, [int(s) for s in rng.integers(1, 3, spatial)]),
                  "dilations": maybe(rng, [int(d) for d in rng.integers(1, 3, spatial)])}
    how = rng.choice(["pads", "auto", "none"])
    if how == "pads":
        attributes["pads"] = [int(p) for p in rng.integers(0, 3, 2 * spatial)]
    if how == "auto":
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        attributes["dilations"] = None
    return x, w, attributes


ACTIVATIONS = [(None, None), ("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.3, 0.4])]


@operator
def FusedConv(rng):
    x, w, attributes = convolution(rng)
    activation, parameters = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
    bias = maybe(rng, normal(rng, [w.shape[0]]))
    z = None
    if rng.random() < 0.3:
        plain = {k: v for k, v in attributes.items() if v is not None}
        y = run(Case("Conv", [x, w], domain="", **plain))[0]
        z = normal(rng, y.shape)
    return Case("FusedConv", [x, w, bias, z], activation=activation, activation_params=parameters, **attributes)


@operator
def FusedGemm(rng):
    m, k, n = dims(rng, 3, 6)
    ta, tb = int(rng.integers(2)), int(rng.integers(2))
    a, b = normal(rng, [k, m] if ta else [m, k]), normal(rng, [n, k] if tb else [k, n])
    c = [None, normal(rng, [n]), normal(rng, [m, n]), normal(rng, [m, 1]), normal(rng, [1])][rng.integers(5)]
    name, parameters = [("Relu", {}), ("LeakyRelu", {"alpha": 0.2}), ("Tanh", {}), ("Sigmoid", {}), ("Elu", {"alpha": 0.7}), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
                        ("Selu", {"alpha": 1.5, "gamma": 1.1}), ("Softplus", {}), ("Softsign", {}), ("ThresholdedRelu", {"alpha": 0.5}), ("Celu", {"alpha": 0.7})][rng.integers(11)]
    return Case("FusedGemm", [a, b, c], activation=name, transA=maybe(rng, ta, 0.9) if not ta else ta, transB=tb, alpha=maybe(rng, 0.5), beta=maybe(rng, 0.25),
                **{"activation_" + key: value for key, value in parameters.items()})


@operator
def FusedMatMul(rng):
    m, k, n = dims(rng, 3)
    rank = int(rng.integers(2, 5))
    batch = dims(rng, rank - 2, 3)
    flags = {name: int(rng.integers(2)) for name in ("transA", "transB")}
    if rank > 2:
        flags.update({name: int(rng.integers(2)) for name in ("transBatchA", "transBatchB")})

    def operand(row, column, transposes, moves, own):
        first, last = (column, row) if transposes else (row, column)
        return [first] + own + [last] if moves else own + [first, last]

    a_batch, b_batch = list(batch), list(batch)
    if not flags.get("transBatchA") and not flags.get("transBatchB") and batch:
        if rng.random() < 0.3:
            b_batch = b_batch[1:]
        elif rng.random() < 0.3:
            a_batch[0] = 1
    a = normal(rng, operand(m, k, flags["transA"], flags.get("transBatchA"), a_batch))
    b = normal(rng, operand(k, n, flags["transB"], flags.get("transBatchB"), b_batch))
    return Case("FusedMatMul", [a, b], alpha=maybe(rng, 0.125), **flags)


# GELU ------------------------------------------------------------------------------------------------------------------------------------


@operator
def Gelu(rng):
    return Case("Gelu", [normal(rng, dims(rng, rng.integers(1, 5)), 2)])


@operator
def BiasGelu(rng):
    shape = dims(rng, rng.integers(2, 5))
    return Case("BiasGelu", [normal(rng, shape, 2), normal(rng, shape[-1:])])


@operator
def FastGelu(rng):
    shape = dims(rng, rng.integers(1, 5))
    return Case("FastGelu", [normal(rng, shape, 2), maybe(rng, normal(rng, shape[-1:]))])


@operator
def QuickGelu(rng):
    return Case("QuickGelu", [normal(rng, dims(rng, rng.integers(1, 5)), 2)], alpha=maybe(rng, float(rng.choice([1.0, 0.5, 1.702]))))


# Layer normalization ---------------------------------------------------------------------------------------------------------------------


def normalization(rng, op, bias, outputs, **more):
    shape = [2, *dims(rng, int(rng.integers(1, 3)), 4), 8]
    axis = maybe(rng, int(rng.integers(-2, 0)))
    own = shape[axis if axis is not None else -1:]
    inputs = [normal(rng, shape, 3), normal(rng, own)] + ([maybe(rng, normal(rng, own))] if bias else [])
    return Case(op, inputs, outputs=int(rng.integers(1, outputs + 1)), domain="", axis=axis, epsilon=maybe(rng, 1e-3), **more)


@operator
def LayerNormalization(rng):
    return normalization(rng, "LayerNormalization", True, 3, opset=int(rng.choice([9, 14])))


@operator
def SimplifiedLayerNormalization(rng):
    return normalization(rng, "SimplifiedLayerNormalization", False, 2, opset=int(rng.choice([12, 20])))


def skip_operands(rng):
    batch, length, hidden = *dims(rng, 2, 4), 8
    shape = [batch, length, hidden] if rng.random() < 0.7 else [length, hidden]
    skip = shape
    if len(shape) == 3 and rng.random() < 0.4:
        skip = [1, length, hidden] if rng.random() < 0.5 else [length, hidden]
    return normal(rng, shape, 2), normal(rng, skip), normal(rng, [hidden])


@operator
def SkipLayerNormalization(rng):
    x, skip, gamma = skip_operands(rng)
    return Case("SkipLayerNormalization", [x, skip, gamma, maybe(rng, normal(rng, [8])), maybe(rng, normal(rng, [8]))], outputs=int(rng.choice([1, 4])), absent=(1, 2),
                epsilon=maybe(rng, 1e-3))


@operator
def SkipSimplifiedLayerNormalization(rng):
    x, skip, gamma = skip_operands(rng)
    return Case("SkipSimplifiedLayerNormalization", [x, skip, gamma, maybe(rng, normal(rng, [8]))], outputs=int(rng.choice([1, 4])), absent=(1, 2), epsilon=maybe(rng, 1e-3))


# Numbers of 8 and 16 bits ----------------------------------------------------------------------------------------------------------------


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def codes(rng, shape, dtype):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def zero_point(rng, dtype):
    info = np.iinfo(dtype)
    middle = (info.min + info.max + 1) // 2
    return int(np.clip(middle + rng.integers(-20, 21), info.min, info.max))


def scale(rng):
    return float(np.float32(rng.uniform(0.01, 0.1)))


def eight_bits(rng):
    return np.dtype(rng.choice(["uint8", "int8"]))


def quantized(rng, shape, dtype, zero=True):
    """Codes, scale and zero point."""
    return [codes(rng, shape, dtype), scalar(scale(rng)), scalar(zero_point(rng, dtype), dtype) if zero else None]


def binary(rng, op):
    dtype = eight_bits(rng)
    shape = dims(rng, int(rng.integers(1, 5)))
    other = [1 if rng.random() < 0.3 else d for d in shape][int(rng.integers(0, 2)):]
    a, b = quantized(rng, shape, dtype, rng.random() < 0.8), quantized(rng, other, dtype, rng.random() < 0.8)
    if rng.random() < 0.3:
        a, b = b, a
    return Case(op, [*a, *b, scalar(scale(rng) * 2), scalar(zero_point(rng, dtype), dtype)])


@operator
def QLinearAdd(rng):
    return binary(rng, "QLinearAdd")


@operator
def QLinearMul(rng):
    return binary(rng, "QLinearMul")


def unary(rng, op, to, **attributes):
    dtype = eight_bits(rng)
    x = quantized(rng, dims(rng, int(rng.integers(1, 5))), dtype, rng.random() < 0.8)
    return Case(op, [*x, scalar(to), scalar(zero_point(rng, dtype), dtype)], **attributes)


@operator
def QLinearSigmoid(rng):
    return unary(rng, "QLinearSigmoid", 1 / 200)


@operator
def QLinearLeakyRelu(rng):
    return unary(rng, "QLinearLeakyRelu", scale(rng), alpha=maybe(rng, 0.3))


@operator
def QLinearReduceMean(rng):
    dtype = eight_bits(rng)
    x, to = quantized(rng, dims(rng, 4), dtype), quantized(rng, [1], dtype)[1:]
    axes, keepdims = sorted({int(a) for a in rng.integers(-4, 0, 2)}), int(rng.integers(2))
    real = run(Case("DequantizeLinear", x, domain=""))[0]
    mean = run(Case("ReduceMean", [real], domain="", axes=axes, keepdims=keepdims))[0]
    same = Case("QuantizeLinear", [mean, *to], domain="")
    return Case("QLinearReduceMean", [*x, *to], axes=axes, keepdims=keepdims, same_as=(same, lambda y: y))


@operator
def QLinearWhere(rng):
    shape = dims(rng, int(rng.integers(1, 4)))
    dtype = eight_bits(rng)
    x, y, z = quantized(rng, shape, dtype), quantized(rng, shape[-1:], dtype), quantized(rng, [1], dtype)
    return Case("QLinearWhere", [rng.random(shape) < 0.5, *x, *y, *z[1:]])


@operator
def QLinearConcat(rng):
    dtype = eight_bits(rng)
    shape = dims(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(len(shape)))
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        shape[axis] = int(rng.integers(1, 4))
        parts += quantized(rng, shape, dtype)
    return Case("QLinearConcat", [*quantized(rng, [1], dtype)[1:], *parts], axis=axis - (len(shape) if rng.random() < 0.3 else 0))


def image(rng, last):
    n, c, h, w = int(rng.integers(1, 3)), int(rng.integers(1, 5)), *[int(v) for v in rng.integers(4, 8, 2)]
    return [n, h, w, c] if last else [n, c, h, w]


@operator
def QLinearGlobalAveragePool(rng):
    last = int(rng.integers(2))
    dtype = eight_bits(rng)
    return Case("QLinearGlobalAveragePool", [*quantized(rng, image(rng, last), dtype), *quantized(rng, [1], dtype)[1:]], channels_last=maybe(rng, last, 0.8 if not last else 1))


@operator
def QLinearAveragePool(rng):
    last = int(rng.integers(2))
    dtype = eight_bits(rng)
    return Case("QLinearAveragePool", [*quantized(rng, image(rng, last), dtype), *quantized(rng, [1], dtype)[1:]], channels_last=last, kernel_shape=[int(v) for v in rng.integers(1, 4, 2)],
                strides=maybe(rng, [1, 2]), pads=maybe(rng, [0, 0, 1, 0]), **{maybe(rng, "ceil_mode") or "count_include_pad": maybe(rng, 1, 0.6)})


@operator
def QLinearSoftmax(rng):
    dtype = eight_bits(rng)
    # A probability that rounds to 256 / 256 does not saturate in ONNX Runtime 1.31: none here does.
    shape = [int(d) for d in rng.integers(3, 7, int(rng.integers(2, 4)))]
    opset = int(rng.choice([9, 13]))
    axis = maybe(rng, int(rng.integers(-len(shape), len(shape))), 0.8)
    zero = 0 if dtype == np.uint8 else -128
    return Case("QLinearSoftmax", [*quantized(rng, shape, dtype)[:1], scalar(scale(rng) / 4), scalar(zero_point(rng, dtype), dtype), scalar(1 / 256), scalar(zero, dtype)], opset=17, axis=axis, **{"opset_": opset})


@operator
def QGemm(rng):
    m, k, n = dims(rng, 3, 6)
    a_type, b_type = rng.choice([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
    ta, tb = int(rng.integers(2)), int(rng.integers(2))
    a = quantized(rng, [k, m] if ta else [m, k], np.dtype(a_type))
    b = [codes(rng, [n, k] if tb else [k, n], np.dtype(b_type)), np.float32(rng.uniform(0.01, 0.1, n)), np.array([zero_point(rng, np.dtype(b_type)) for _ in range(n)], b_type)]
    if rng.random() < 0.5:
        b = [b[0], scalar(scale(rng)), scalar(zero_point(rng, np.dtype(b_type)), b_type)]
    c = maybe(rng, rng.integers(-5000, 5000, [[n], [m, n], [1, n], [1]][rng.integers(4)]).astype(np.int32))
    to = [scalar(float(np.float32(0.5))), scalar(zero_point(rng, np.dtype(a_type)), a_type)] if rng.random() < 0.6 else [None, None]
    return Case("QGemm", [*a, *b, c, *to], transA=ta, transB=tb, alpha=maybe(rng, 0.5))


def batched(rng):
    m, k, n = dims(rng, 3, 6)
    batch = dims(rng, int(rng.integers(0, 3)), 3)
    return batch + [m, k], (batch if rng.random() < 0.3 else []) + [k, n], n


def matrix_parameters(rng, n, dtype, flat):
    per_column = flat and rng.random() < 0.4
    zero = maybe(rng, np.array([zero_point(rng, dtype) for _ in range(n)], dtype) if per_column else scalar(zero_point(rng, dtype), dtype))
    return np.float32(rng.uniform(0.01, 0.1, n)) if per_column else scalar(scale(rng)), zero


@operator
def DynamicQuantizeMatMul(rng):
    a, b, n = batched(rng)
    dtype = eight_bits(rng)
    b_scale, b_zero = matrix_parameters(rng, n, dtype, len(b) == 2)
    return Case("DynamicQuantizeMatMul", [normal(rng, a), codes(rng, b, dtype), b_scale, b_zero, maybe(rng, normal(rng, [n]))])


@operator
def DynamicQuantizeLSTM(rng):
    steps, batch, width, hidden = *dims(rng, 3, 4), int(rng.choice([2, 3, 5, 20]))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    both = 2 if direction == "bidirectional" else 1
    kind = eight_bits(rng)
    per_column = rng.random() < 0.5
    shape = [both, 4 * hidden] if per_column else [both]

    def weight(rows):
        zero = np.full(shape, 0 if kind == np.int8 else 128, kind) if per_column else np.array([zero_point(rng, kind) for _ in range(both)], kind)
        return codes(rng, [both, rows, 4 * hidden], kind), np.float32(rng.uniform(0.003, 0.01, shape)), zero

    w, w_scale, w_zero = weight(width)
    r, r_scale, r_zero = weight(hidden)
    state = lambda: maybe(rng, normal(rng, [both, batch, hidden]), 0.4)
    return Case("DynamicQuantizeLSTM", [normal(rng, [steps, batch, width]), w, r, maybe(rng, normal(rng, [both, 8 * hidden])), None, state(), state(),
                                        maybe(rng, normal(rng, [both, 3 * hidden]), 0.3), w_scale, w_zero, r_scale, r_zero], outputs=3, direction=direction, hidden_size=hidden,
                input_forget=maybe(rng, 1, 0.2), clip=maybe(rng, 2.0, 0.2), fixed=rng.random() < 0.6)


@operator
def MatMulIntegerToFloat(rng):
    a, b, n = batched(rng)
    a_type, dtype = [np.dtype(t) for t in rng.choice([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])]
    b_scale, b_zero = matrix_parameters(rng, n, dtype, len(b) == 2)
    return Case("MatMulIntegerToFloat", [codes(rng, a, a_type), codes(rng, b, dtype), scalar(scale(rng)), b_scale, maybe(rng, scalar(zero_point(rng, a_type), a_type)), b_zero,
                                         maybe(rng, normal(rng, [n]))])


@operator
def QLinearConv(rng):
    x, w, attributes = convolution(rng, channels_last=True)
    last = int(rng.integers(2))
    x_type, w_type = [np.dtype(t) for t in rng.choice([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])]
    shape = list(x.shape)
    shape = [shape[0], *shape[2:], shape[1]] if last else shape
    outputs = w.shape[0]
    w_zero = scalar(0 if w_type == np.int8 else zero_point(rng, w_type), w_type)
    w_scale = np.float32(rng.uniform(0.01, 0.1, outputs)) if rng.random() < 0.5 else scalar(scale(rng))
    w_zero = np.full(outputs, w_zero, w_type) if w_scale.ndim else w_zero
    bias = maybe(rng, rng.integers(-5000, 5000, outputs).astype(np.int32))
    return Case("QLinearConv", [codes(rng, shape, x_type), scalar(scale(rng)), scalar(zero_point(rng, x_type), x_type), codes(rng, w.shape, w_type), w_scale, w_zero, scalar(0.5),
                                scalar(zero_point(rng, x_type), x_type), bias], channels_last=last, **attributes)


@operator
def NhwcMaxPool(rng):
    return Case("NhwcMaxPool", [codes(rng, image(rng, True), eight_bits(rng))], kernel_shape=[int(v) for v in rng.integers(1, 4, 2)], strides=maybe(rng, [1, 2]),
                pads=maybe(rng, [0, 0, 0, 0]), ceil_mode=maybe(rng, 1, 0.3), dilations=maybe(rng, [1, 1]))


def nhwc(rng, op, fused):
    x, w, attributes = convolution(rng, channels_last=True)
    bias = maybe(rng, normal(rng, [w.shape[0]]))
    more = {}
    if fused:
        more["activation"], more["activation_params"] = ACTIVATIONS[rng.integers(len(ACTIVATIONS))]
    same = Case("FusedConv", [x, w, bias], **more, **attributes)
    return Case(op, [np.moveaxis(x, 1, -1), w, bias], same_as=(same, lambda y: np.moveaxis(y, 1, -1)), **more, **attributes)


@operator
def NhwcConv(rng):
    return nhwc(rng, "NhwcConv", False)


@operator
def NhwcFusedConv(rng):
    return nhwc(rng, "NhwcFusedConv", True)


@operator
def QuantizeLinear(rng):
    shape = dims(rng, int(rng.integers(1, 4)), 6)
    dtype = np.dtype(rng.choice(["uint8", "int8", "uint16", "int16"]))
    axis = maybe(rng, int(rng.integers(len(shape))))
    count = shape[axis] if axis is not None else None
    zero = scalar(zero_point(rng, dtype), dtype) if axis is None else np.array([zero_point(rng, dtype) for _ in range(count)], dtype)
    return Case("QuantizeLinear", [normal(rng, shape, 5), scalar(scale(rng)) if axis is None else np.float32(rng.uniform(0.01, 0.1, count)), zero if axis is not None else maybe(rng, zero, 0.9)], axis=axis)


@operator
def DequantizeLinear(rng):
    shape = dims(rng, int(rng.integers(1, 4)), 6)
    dtype = np.dtype(rng.choice(["uint8", "int8", "uint16", "int16", "int32"]))
    axis = maybe(rng, int(rng.integers(len(shape))))
    count = shape[axis] if axis is not None else None
    wide = dtype == np.int32
    zero = scalar(0 if wide else zero_point(rng, dtype), dtype) if axis is None else np.array([0 if wide else zero_point(rng, dtype) for _ in range(count)], dtype)
    x = rng.integers(-9999, 9999, shape).astype(dtype) if wide else codes(rng, shape, dtype)
    return Case("DequantizeLinear", [x, scalar(scale(rng)) if axis is None else np.float32(rng.uniform(0.01, 0.1, count)), maybe(rng, zero, 0.8)], axis=axis)


# Weights of a few bits -------------------------------------------------------------------------------------------------------------------


@operator
def MatMulNBits(rng):
    bits, size = int(rng.choice([4, 4, 2, 8])), int(rng.choice([16, 32]))
    n, k = int(rng.integers(1, 10)), int(rng.integers(1, 80))
    blocks = -(-k // size)
    a = normal(rng, [*dims(rng, int(rng.integers(1, 3)), 3), k])
    b = codes(rng, [n, blocks, size * bits // 8], np.uint8)
    scales = np.float32(rng.uniform(0.01, 0.1, [n, blocks]))
    if rng.random() < 0.3:
        scales = scales.reshape(-1)
    kind = rng.choice(["none", "packed", "real"])
    zeros = {"none": None, "packed": codes(rng, [n, -(-blocks * bits // 8)], np.uint8), "real": np.float32(rng.uniform(0, 2**bits - 1, [n, blocks]))}[kind]
    if kind == "packed" and rng.random() < 0.3:
        zeros = zeros.reshape(-1)
    return Case("MatMulNBits", [a, b, scales, zeros, None, maybe(rng, normal(rng, [n]))], N=n, K=k, block_size=size, bits=bits)


@operator
def MatMulBnb4(rng):
    size = int(rng.choice([16, 32]))
    n, k = int(rng.integers(1, 10)), int(rng.integers(1, 50))
    a = normal(rng, [*dims(rng, int(rng.integers(1, 3)), 3), k])
    return Case("MatMulBnb4", [a, codes(rng, [(n * k + 1) // 2], np.uint8), np.float32(rng.uniform(0.1, 1, -(-n * k // size)))], N=n, K=k, block_size=size, quant_type=int(rng.integers(2)))


def small_tensor(rng, shape, kind):
    """int4 or uint4, two to a byte."""
    count = int(np.prod(shape))
    return onnx.TensorProto(data_type=kind, dims=shape, raw_data=codes(rng, [-(-count // 2)], np.uint8).tobytes() if count % 2 == 0 else bytes([*codes(rng, [count // 2], np.uint8), int(rng.integers(16))]))


@operator
def GatherBlockQuantized(rng):
    size = 16
    indices = rng.integers(0, 4, dims(rng, int(rng.integers(0, 3)), 3)).astype(rng.choice(["int32", "int64"]))
    if rng.random() < 0.5:
        bits = int(rng.choice([2, 4, 8]))
        middle = dims(rng, int(rng.integers(0, 2)), 3)
        width = 8 // bits * int(rng.integers(1, 8))
        blocks = -(-width // size)
        data = codes(rng, [4, *middle, width * bits // 8], np.uint8)
        zeros = maybe(rng, codes(rng, [4, *middle, -(-blocks * bits // 8)], np.uint8))
        return Case("GatherBlockQuantized", [data, indices, np.float32(rng.uniform(0.01, 0.1, [4, *middle, blocks])), zeros], bits=bits, block_size=size, gather_axis=maybe(rng, 0), quantize_axis=len(middle) + 1)
    shape = [4, *dims(rng, int(rng.integers(1, 3)), 3)]
    axis = int(rng.integers(1, len(shape)))
    shape[axis] = int(rng.integers(1, 40))
    gathered = 0
    if rng.random() < 0.4:
        shape[0], shape[axis] = shape[axis], 4
        gathered, axis = axis, 0
    scales = [-(-d // size) if i == axis else d for i, d in enumerate(shape)]
    kind = int(rng.choice([TensorProto.INT4, TensorProto.UINT4]))
    back = len(shape) if rng.random() < 0.3 else 0
    return Case("GatherBlockQuantized", [small_tensor(rng, shape, kind), indices, np.float32(rng.uniform(0.01, 0.1, scales)), maybe(rng, small_tensor(rng, scales, kind))], block_size=size,
                gather_axis=gathered - back, quantize_axis=axis - back, opset=21)


# Attention -------------------------------------------------------------------------------------------------------------------------------


def prefix_mask(rng, batch, length, width):
    """As tokenizers make them: at least one word, the rest padded at the end."""
    ends = rng.integers(1, length + 1, batch)
    return (np.arange(width)[None, :] < ends[:, None]).astype(np.int32), ends.astype(np.int32)


def seen(rng, shape):
    """Each query sees something: scores of −10000 and some are all the same to f32."""
    mask = (rng.random(shape) < 0.6).astype(np.int32)
    mask[..., 0] = 1
    return mask


def mask_of(rng, batch, length, total):
    kind = rng.choice(["none", "ends", "both ends", "rows", "holes", "matrix"])
    mask, ends = prefix_mask(rng, batch, total, total)
    if kind == "ends":
        return ends
    if kind == "both ends":
        return np.concatenate([ends, np.minimum(ends - 1, 1 if length == 1 else 0)]).astype(np.int32)
    if kind == "rows":
        return mask
    if kind == "holes":
        return seen(rng, [batch, total])
    if kind == "matrix":
        return seen(rng, [batch, length, total])
    return None


class Sizes:
    def __init__(self, rng):
        self.batch, self.length, self.heads = int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        self.size, self.past = int(rng.choice([4, 8])), int(rng.integers(0, 4))
        self.total = self.length + self.past
        self.hidden = self.heads * self.size


def scores(rng, s):
    return maybe(rng, normal(rng, [int(rng.choice([1, s.batch])), int(rng.choice([1, s.heads])), s.length, s.total]), 0.3)


@operator
def Attention(rng):
    s = Sizes(rng)
    width = int(rng.integers(3, 9))
    if rng.random() < 0.5:
        s.past, s.total = 0, s.length
    sizes = [s.hidden, s.hidden, s.hidden if s.past else s.heads * int(rng.choice([s.size, 6]))]
    past = normal(rng, [2, s.batch, s.heads, s.past, s.size]) if s.past else None
    return Case("Attention", [normal(rng, [s.batch, s.length, width]), normal(rng, [width, sum(sizes)]), normal(rng, [sum(sizes)]), mask_of(rng, s.batch, s.length, s.total), past,
                              None if s.past else scores(rng, s)], outputs=2 if s.past else 1, num_heads=s.heads, qkv_hidden_sizes=sizes if sizes[2] != s.hidden else maybe(rng, sizes, 0.2),
                unidirectional=int(rng.integers(2)), scale=maybe(rng, 0.3, 0.3), mask_filter_value=maybe(rng, -100.0, 0.3))


@operator
def QAttention(rng):
    s = Sizes(rng)
    width = int(rng.integers(3, 9))
    if rng.random() < 0.5:
        s.past, s.total = 0, s.length
    past = normal(rng, [2, s.batch, s.heads, s.past, s.size]) if s.past else None
    kind = eight_bits(rng)
    per_column = rng.random() < 0.4
    w_scale = np.float32(rng.uniform(0.005, 0.01, 3 * s.hidden)) if per_column else scalar(0.01)
    w_zero = np.array([zero_point(rng, kind) for _ in range(3 * s.hidden)], kind) if per_column else scalar(zero_point(rng, kind), kind)
    mask = mask_of(rng, s.batch, s.length, s.total)
    return Case("QAttention", [codes(rng, [s.batch, s.length, width], np.uint8), codes(rng, [width, 3 * s.hidden], kind), normal(rng, [3 * s.hidden]), scalar(0.02), w_scale,
                               mask, scalar(zero_point(rng, np.uint8), np.uint8), w_zero, past], outputs=2 if s.past else 1, num_heads=s.heads, unidirectional=int(rng.integers(2)))


@operator
def MultiHeadAttention(rng):
    s = Sizes(rng)
    keys, v_size = int(rng.integers(1, 6)), int(rng.choice([s.size, 6]))
    form = rng.choice(["flat", "by heads", "past"])
    query = normal(rng, [s.batch, s.length, s.hidden])
    past = [None, None]
    outputs = 1
    if form == "by heads":
        key, value = normal(rng, [s.batch, s.heads, keys, s.size]), normal(rng, [s.batch, s.heads, keys, v_size])
        bias = None
    else:
        key, value = normal(rng, [s.batch, keys, s.hidden]), normal(rng, [s.batch, keys, s.heads * v_size])
        bias = maybe(rng, normal(rng, [2 * s.hidden + s.heads * v_size]))
        if form == "past":
            past = [normal(rng, [s.batch, s.heads, s.past, s.size]), normal(rng, [s.batch, s.heads, s.past, v_size])]
            outputs = 3
    s.total = keys + (s.past if form == "past" else 0)
    mask = mask_of(rng, s.batch, s.length, s.total)
    if mask is not None and mask.ndim == 1:
        mask = mask[:s.batch]
    return Case("MultiHeadAttention", [query, key, value, bias, mask, scores(rng, s), *past], outputs=outputs, num_heads=s.heads, unidirectional=maybe(rng, 1, 0.3), scale=maybe(rng, 0.3, 0.3),
                mask_filter_value=maybe(rng, -100.0, 0.3))


@operator
def RotaryEmbedding(rng):
    s = Sizes(rng)
    flat, partial = rng.random() < 0.6, rng.random() < 0.3
    turned = s.size // 2 if partial else s.size
    x = normal(rng, [s.batch, s.length, s.hidden] if flat else [s.batch, s.heads, s.length, s.size])
    positions = np.array([int(rng.integers(0, 4))], np.int64) if rng.random() < 0.4 else rng.integers(0, 12, [s.batch, s.length]).astype(np.int64)
    angles = normal(rng, [12, turned // 2])
    return Case("RotaryEmbedding", [x, positions, np.cos(angles), np.sin(angles)], interleaved=maybe(rng, 1), num_heads=s.heads if partial or rng.random() < 0.5 else None,
                rotary_embedding_dim=turned if partial else None)


@operator
def EmbedLayerNormalization(rng):
    s = Sizes(rng)
    ids = rng.integers(0, 9, [s.batch, s.length]).astype(np.int32)
    segments = maybe(rng, rng.integers(0, 2, [s.batch, s.length]).astype(np.int32))
    table = normal(rng, [2, 8]) if segments is not None else None
    mask = maybe(rng, mask_of(rng, s.batch, s.length, s.length))
    mask = mask if mask is not None and mask.ndim == 2 else None
    positions = maybe(rng, rng.integers(0, 7, [int(rng.choice([1, s.batch])), s.length]).astype(np.int32), 0.3)
    return Case("EmbedLayerNormalization", [ids, segments, normal(rng, [9, 8]), normal(rng, [7, 8]), table, normal(rng, [8]), normal(rng, [8]), mask, positions], outputs=int(rng.choice([2, 3])),
                epsilon=maybe(rng, 1e-3))


@operator
def BiasAdd(rng):
    n, s, c = dims(rng, 3)
    x, bias, skip = normal(rng, [n, s, c]), normal(rng, [c]), normal(rng, [n, s, c])
    return Case("BiasAdd", [x, bias, skip], same_as=(Case("Add", [run(Case("Add", [x, bias], domain=""))[0], skip], domain=""), lambda y: y))


@operator
def BiasSoftmax(rng):
    shape = dims(rng, 4, 4)
    axis = int(rng.integers(1, 4))
    inner = int(rng.integers(2))
    bias = [shape[0], *[1] * (axis - 1), *shape[axis:]] if inner else [*[1] * axis, *shape[axis:]]
    x, b = normal(rng, shape), normal(rng, bias)
    same = Case("Softmax", [run(Case("Add", [x, b], domain=""))[0]], domain="", opset=11, axis=axis)
    return Case("BiasSoftmax", [x, b], axis=axis, is_inner_broadcast=inner, same_as=(same, lambda y: y))


@operator
def GroupQueryAttention(rng):
    """A first prompt, or steps that follow a past, which fills its buffer or is stored in a longer one."""
    batch, groups, kv_heads, size = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3)), 16
    heads = groups * kv_heads
    first = rng.random() < 0.5
    length = int(rng.integers(2, 6)) if first else 1
    past = np.zeros(batch, np.int64) if first else rng.integers(1, 5, batch)
    lengths = np.full(batch, length) if first else past + length
    total = int(lengths.max())
    buffer = int(rng.choice([0, 8])) if first else int(max(past.max(), rng.choice([0, 8])))
    caches = [normal(rng, [batch, kv_heads, buffer, size]), normal(rng, [batch, kv_heads, buffer, size])] if buffer or not first else [None, None]
    query, key, value = (normal(rng, [batch, length, n * size]) for n in (heads, kv_heads, kv_heads))
    packed = rng.random() < 0.3
    if packed:
        query, key, value = np.concatenate([query, key, value], axis=2), None, None
    angles = normal(rng, [16, size // 2])
    rotary = int(rng.integers(2))
    inputs = [query, key, value, *caches, (lengths - 1).astype(np.int32), np.array(total, np.int32), np.cos(angles) if rotary else None, np.sin(angles) if rotary else None, None,
              maybe(rng, normal(rng, [int(rng.choice([1, batch])), int(rng.choice([1, heads])), length, total]), 0.2), maybe(rng, normal(rng, [heads]), 0.2)]
    return Case("GroupQueryAttention", inputs, outputs=3, num_heads=heads, kv_num_heads=kv_heads, do_rotary=rotary, rotary_interleaved=maybe(rng, 1, 0.3) if rotary else None,
                local_window_size=maybe(rng, int(rng.integers(1, 4)), 0.3), scale=maybe(rng, 0.2, 0.3), softcap=maybe(rng, 5.0, 0.3), smooth_softmax=maybe(rng, 1, 0.2))


# Windows and coordinates of the default domain --------------------------------------------------------------------------------------------


@operator
def ConvTranspose(rng):
    """Pads given, computed from output_shape, or from auto_pad."""
    spatial, group = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2]))
    size, kernel, strides = ([int(v) for v in rng.integers(low, high, spatial)] for low, high in ((1, 6), (1, 5), (1, 4)))
    dilations = [int(v) for v in rng.integers(1, 3, spatial)] if rng.random() < 0.4 else None
    extra = [int(rng.integers(0, max(s, d))) for s, d in zip(strides, dilations or [1] * spatial)] if rng.random() < 0.4 else None
    full = [s * (n - 1) + (e if extra else 0) + (k - 1) * d + 1 for s, n, e, k, d in zip(strides, size, extra or size, kernel, dilations or [1] * spatial)]
    automatic = str(rng.choice(["", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])) or None
    shape = [max(1, f + int(rng.integers(-4, 2))) for f in full] if rng.random() < 0.6 else None
    pads = [int(v) for v in rng.integers(0, 2, 2 * spatial)] if automatic in (None, "NOTSET") and rng.random() < 0.5 else None
    inputs, outputs = group * int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x, w = normal(rng, [int(rng.integers(1, 3)), inputs] + size), normal(rng, [inputs, outputs] + kernel)
    return Case("ConvTranspose", [x, w, maybe(rng, normal(rng, [group * outputs]))], domain="", fixed=True, opset=int(rng.choice([11, 17, 22])), group=group, strides=strides,
                dilations=dilations, output_padding=extra, auto_pad=automatic, output_shape=shape, pads=pads)


@operator
def Resize(rng):
    """By scales whose product with a length is often no whole number, or to sizes. ONNX Runtime copies dims that keep their size, whatever scale or roi say."""
    opset = int(rng.choice([10, 11, 13, 18, 19]))
    mode = str(rng.choice(["nearest", "linear", "linear", "cubic"])) if opset > 10 else str(rng.choice(["nearest", "linear"]))
    spatial = 2 if mode == "cubic" else int(rng.integers(1, 4))
    size = [int(v) for v in rng.integers(1, 8, spatial)]
    x = normal(rng, [int(rng.integers(1, 3)), int(rng.integers(1, 3))] + size)
    scales = [float(rng.choice([0.4, 0.5, 0.6, 0.75, 1, 1.25, 1.3, 1.5, 1.7, 2, 2.5, 3])) for _ in size]
    scales = [1.0 if int(n * s) == n else s for n, s in zip(size, scales)]
    if opset == 10:
        return Case("Resize", [x, np.array([1, 1, *scales], np.float32)], domain="", opset=10, fixed=True, mode=mode)
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "align_corners", "asymmetric", "tf_crop_and_resize"]
    coordinates += ["tf_half_pixel_for_nn"] if opset < 13 else ["half_pixel_symmetric"] if opset == 19 else []
    coordinate = str(rng.choice(coordinates))
    attributes = dict(mode=mode, coordinate_transformation_mode=coordinate)
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if mode == "cubic":
        attributes.update(exclude_outside=maybe(rng, 1, 0.4), cubic_coeff_a=maybe(rng, -0.5, 0.4))
    if opset >= 18 and mode != "nearest" and coordinate != "tf_crop_and_resize":
        attributes["antialias"] = maybe(rng, 1, 0.5)
    some = opset >= 18 and rng.random() < 0.5  # the spatial axes alone
    whole = [] if some else [1, 1]
    if some:
        attributes["axes"] = list(range(2, 2 + spatial))
    by_sizes = rng.random() < 0.3
    if by_sizes and some and coordinate != "tf_crop_and_resize":
        attributes["keep_aspect_ratio_policy"] = maybe(rng, str(rng.choice(["stretch", "not_larger", "not_smaller"])), 0.7)
    given = [max(1, int(n * s)) for n, s in zip(size, scales)]
    sizes = np.array([*([] if some else x.shape[:2]), *given], np.int64) if by_sizes else None
    roi = None
    if coordinate == "tf_crop_and_resize":
        begin, end = (np.where(np.equal(given, size), whole_bound, rng.uniform(low, low + 0.5, spatial)) for whole_bound, low in ((0, -0.1), (1, 0.6)))
        roi = np.array([*[0 for _ in whole], *begin, *[1 for _ in whole], *end], np.float32)
        attributes["extrapolation_value"] = maybe(rng, 2.5)
    absent = np.array([], np.float32) if opset == 11 else None  # opset 11 has no optional operand but the last
    scales = absent if by_sizes else np.array([*whole, *scales], np.float32)
    return Case("Resize", [x, absent if roi is None else roi, scales, sizes], domain="", opset=opset, fixed=True, **attributes)


@operator
def Upsample(rng):
    size = [int(v) for v in rng.integers(1, 7, 2)]
    scales = [1, 1, *(float(rng.choice([1, 1.25, 1.5, 1.7, 2, 2.5])) for _ in size)]
    scales = [1.0 if int(n * s) == n else float(s) for n, s in zip([1, 1, *size], scales)]
    x, mode = normal(rng, [int(rng.integers(1, 3)), 2] + size), str(rng.choice(["nearest", "linear"]))
    if rng.random() < 0.5:
        return Case("Upsample", [x], domain="", opset=7, mode=mode, scales=scales)
    return Case("Upsample", [x, np.array(scales, np.float32)], domain="", opset=9, fixed=True, mode=mode)


# Classical machine learning -----------------------------------------------------------------------------------------------------------------


def of_ml(op, inputs, outputs=1, version=1, **attributes):
    return Case(op, inputs, outputs, domain=ML, opset=17, ml=version, **attributes)


def reals(rng, *shape):
    return [round(float(v), 3) for v in rng.standard_normal(shape).reshape(-1)]


def features(rng, rows=None, columns=None, types=(np.float32, np.float32, np.float64, np.int64, np.int32)):
    """A matrix of one of these types; some numbers repeat, so that thresholds are met."""
    shape = [rows or int(rng.integers(1, 6)), columns or int(rng.integers(1, 5))]
    return (rng.standard_normal(shape) * 4).round().astype(types[rng.integers(len(types))])


def labels(rng, count, integers):
    """Class labels, integers or strings."""
    names = [int(v) for v in rng.permutation(50)[:count] - 10]
    return {integers: names} if rng.random() < 0.5 else {"classlabels_strings": [f"label {v}" for v in names]}


TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]


def transform(rng, count):
    """Of a single score ONNX Runtime omits some transforms."""
    return str(rng.choice(TRANSFORMS[:4] if count > 1 else ["NONE"]))


@operator
def ArrayFeatureExtractor(rng):
    x = normal(rng, dims(rng, int(rng.integers(1, 4))))
    x = [x, (x * 9).astype(np.int64), x.astype(np.float64)][rng.integers(3)]
    y = rng.integers(0, x.shape[-1], dims(rng, 1) if rng.random() < 0.5 else [1, 3])
    return of_ml("ArrayFeatureExtractor", [x, y])


@operator
def Binarizer(rng):
    return of_ml("Binarizer", [features(rng, types=(np.float32,))], threshold=maybe(rng, 1.0))


@operator
def CategoryMapper(rng):
    words, numbers = ["a", "b", "c"], [4, -1, 7]
    x = np.array(["a", "x", "c"], object) if rng.random() < 0.5 else np.array([[7, 3], [4, 4]])
    return of_ml("CategoryMapper", [x], cats_strings=words, cats_int64s=numbers, default_string=maybe(rng, "none"), default_int64=maybe(rng, 99))


@operator
def FeatureVectorizer(rng):
    rows, kind = int(rng.integers(1, 4)), [np.float32, np.int64, np.float64, np.int32][rng.integers(4)]
    parts = [features(rng, rows, types=(kind,)) for _ in range(int(rng.integers(1, 4)))]
    return of_ml("FeatureVectorizer", parts, inputdimensions=[max(1, part.shape[1] + int(rng.integers(-1, 2))) for part in parts])


@operator
def Imputer(rng):
    columns = int(rng.integers(1, 5))
    count = columns if rng.random() < 0.5 else 1
    if rng.random() < 0.3:
        return of_ml("Imputer", [features(rng, columns=columns, types=(np.int64,))], imputed_value_int64s=[7 + k for k in range(count)], replaced_value_int64=maybe(rng, 2))
    x = features(rng, columns=columns, types=(np.float32,))
    x[rng.random(x.shape) < 0.3] = np.nan
    return of_ml("Imputer", [x], imputed_value_floats=reals(rng, count), replaced_value_float=[None, 1.0, float("nan")][rng.integers(3)])


ENCODED = {"strings": ["a", "b", "c"], "int64s": [3, -4, 5], "floats": [0.5, float("nan"), -2.0]}
TENSORS = {"int16": [1, 2, 3], "double": [0.25, 1.5, 9.0], "int32": [3, 4, 5]}


@operator
def LabelEncoder(rng):
    version = int(rng.choice([1, 2, 4]))
    default = {"default_string": maybe(rng, "none"), "default_int64": maybe(rng, 42), "default_float": maybe(rng, 2.5)}
    if version == 1:
        x = np.array(["a", "x", "c"], object) if rng.random() < 0.5 else np.array([0, 2, 3, -1])
        default.pop("default_float")
        return of_ml("LabelEncoder", [x], classes_strings=ENCODED["strings"], **default)
    if version == 4 and rng.random() < 0.5:
        pairs = [("int64", "int16"), ("string", "int16"), ("double", "double"), ("int64", "int64")]
        kind, value = pairs[rng.integers(len(pairs))]
        contents = {**TENSORS, "string": ENCODED["strings"], "int64": ENCODED["int64s"]}
        tensor = lambda name, of, values: helper.make_tensor(name, getattr(TensorProto, of.upper()), [len(values)], values)
        x = np.array(contents[kind] + contents[kind][:1], object if kind == "string" else kind)
        x[0] = "x" if kind == "string" else 77
        return of_ml("LabelEncoder", [x], version=4, keys_tensor=tensor("k", kind, contents[kind]), values_tensor=tensor("v", value, contents[value]),
                     default_tensor=tensor("d", value, contents[value][1:2]))
    keys, values = [str(v) for v in rng.choice(list(ENCODED), 2)]
    x = np.array([*ENCODED[keys], "x" if keys == "strings" else 77], {"strings": object, "int64s": np.int64, "floats": np.float32}[keys])
    if version == 2 and keys == "floats":
        x = x[[0, 2, 3]]  # ONNX Runtime does not find NaN in this version
    return of_ml("LabelEncoder", [x], version=version, **{"keys_" + keys: ENCODED[keys], "values_" + values: ENCODED[values]}, **default)


@operator
def LinearClassifier(rng):
    classes = int(rng.integers(2, 5))
    rows = 1 if classes == 2 and rng.random() < 0.5 else classes
    x = features(rng)
    how = str(rng.choice(["NONE", "LOGISTIC"])) if rows == 1 else transform(rng, rows)
    return of_ml("LinearClassifier", [x], 2, coefficients=reals(rng, rows, x.shape[1]), intercepts=reals(rng, rows), post_transform=how, multi_class=maybe(rng, 1),
                 **labels(rng, classes, "classlabels_ints"))


@operator
def LinearRegressor(rng):
    x, targets = features(rng, types=(np.float32,)), int(rng.integers(1, 4))
    return of_ml("LinearRegressor", [x], coefficients=reals(rng, targets, x.shape[1]), intercepts=maybe(rng, reals(rng, targets)), targets=targets, post_transform=transform(rng, targets))


@operator
def Normalizer(rng):
    return of_ml("Normalizer", [features(rng)], norm=str(rng.choice(["MAX", "L1", "L2"])))


@operator
def OneHotEncoder(rng):
    if rng.random() < 0.3:
        return of_ml("OneHotEncoder", [np.array([["a", "x"], ["c", "a"]], object)], cats_strings=["a", "b", "c"])
    return of_ml("OneHotEncoder", [features(rng)], cats_int64s=[-4, -1, 0, 2, 3], zeros=maybe(rng, 1))


@operator
def Scaler(rng):
    x = features(rng)
    count = x.shape[1] if rng.random() < 0.7 else 1
    return of_ml("Scaler", [x], offset=reals(rng, count), scale=reals(rng, count))


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


@operator
def SVMClassifier(rng):
    classes, x = int(rng.integers(2, 5)), features(rng)
    how = {"kernel_type": str(rng.choice(KERNELS)), "kernel_params": [0.3, 0.2, 2.0], **labels(rng, classes, "classlabels_ints")}
    if rng.random() < 0.2 and classes > 2:
        return of_ml("SVMClassifier", [x], 2, coefficients=reals(rng, classes, x.shape[1]), rho=[0.25], post_transform=transform(rng, classes), **how)
    per_class = [int(v) for v in rng.integers(1, 4, classes)]
    pairs, vectors = classes * (classes - 1) // 2, sum(per_class)
    proba = rng.random() < 0.5
    how["post_transform"] = transform(rng, 2) if proba or classes > 2 else "NONE"
    if proba:
        how.update(prob_a=[-abs(v) for v in reals(rng, pairs)], prob_b=reals(rng, pairs))
    return of_ml("SVMClassifier", [x], 2, vectors_per_class=per_class, support_vectors=reals(rng, vectors, x.shape[1]), coefficients=reals(rng, classes - 1, vectors), rho=reals(rng, pairs), **how)


@operator
def SVMRegressor(rng):
    x, vectors = features(rng, types=(np.float32,)), int(rng.integers(0, 4))
    kernel = {"kernel_type": str(rng.choice(KERNELS)), "kernel_params": [0.3, 0.2, 2.0], "support_vectors": reals(rng, vectors, x.shape[1])} if vectors else {}
    return of_ml("SVMRegressor", [x], coefficients=reals(rng, vectors or x.shape[1]), n_supports=vectors, rho=[0.25], one_class=maybe(rng, 1), **kernel)


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def numbered_trees(rng, columns, votes, targets, form, one_mode=False):
    """Random trees; `votes` is class or target. `form` gives a list of numbers as the attribute of this name."""
    nodes, leaves = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}, []
    trees = int(rng.integers(1, 5))
    mode = str(rng.choice(MODES))
    for tree in range(trees):
        size = 1 + 2 * int(rng.integers(0, 5))
        children = {}
        open_, made = [0], 1
        while made < size:
            at = open_.pop(int(rng.integers(len(open_))))
            children[at] = (made, made + 1)
            open_ += [made, made + 1]
            made += 2
        for node in rng.permutation(size)[::1] if rng.random() < 0 else range(size):
            yes, no = children.get(node, (0, 0))
            is_leaf = node not in children
            row = [tree, node, int(rng.integers(columns)), "LEAF" if is_leaf else mode if one_mode else str(rng.choice(MODES)), float(rng.integers(-4, 5)) / 2, yes, no, int(rng.integers(2))]
            for key, value in zip(nodes, row):
                nodes[key].append(value)
            if is_leaf:
                leaves += [(tree, node, target) for target in range(targets)]
    if rng.random() < 0.5:
        nodes.pop("missing_value_tracks_true")
    values = nodes.pop("values")
    weights = [round(float(v), 3) for v in rng.standard_normal(len(leaves))]
    return {**{"nodes_" + key: value for key, value in nodes.items()}, **form("nodes_values", values), **form(votes + "_weights", weights),
            votes + "_treeids": [leaf[0] for leaf in leaves], votes + "_nodeids": [leaf[1] for leaf in leaves], votes + "_ids": [leaf[2] for leaf in leaves]}


def in_singles(name, values):
    return {name: values}


def in_doubles(name, values):
    return {name + "_as_tensor": helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)}


def with_missing(rng, x):
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def no_missing_unequal(attributes, x):
    """ONNX Runtime takes the true branch of BRANCH_NEQ for a missing number, whatever the node says."""
    return np.nan_to_num(x) if x.dtype.kind == "f" and "BRANCH_NEQ" in attributes["nodes_modes"] else x


@operator
def TreeEnsembleClassifier(rng):
    doubles = rng.random() < 0.3
    x = with_missing(rng, features(rng, types=(np.float64,) if doubles else (np.float32, np.float32, np.int64, np.int32)))
    one = not doubles and rng.random() < 0.4
    classes = 2 if one else int(rng.integers(3, 5))
    form = in_doubles if doubles else in_singles
    attributes = numbered_trees(rng, x.shape[1], "class", 1 if one else classes, form, one_mode=rng.random() < 0.5)
    if one and rng.random() < 0.5:
        attributes["class_weights"] = [abs(v) for v in attributes["class_weights"]]
    is_probability = one and min(attributes["class_weights"]) >= 0
    base = {} if one or rng.random() < 0.5 else form("base_values", reals(rng, classes))
    return of_ml("TreeEnsembleClassifier", [no_missing_unequal(attributes, x)], 2, version=3, post_transform="NONE" if is_probability else str(rng.choice(["NONE", "LOGISTIC"])) if one else transform(rng, classes),
                 **attributes, **base, **labels(rng, classes, "classlabels_int64s"))


@operator
def TreeEnsembleRegressor(rng):
    doubles = rng.random() < 0.3
    x = with_missing(rng, features(rng, types=(np.float64,) if doubles else (np.float32,)))
    targets, form = int(rng.integers(1, 4)), in_doubles if doubles else in_singles
    attributes = numbered_trees(rng, x.shape[1], "target", targets, form, one_mode=rng.random() < 0.5)
    base = {} if rng.random() < 0.5 else form("base_values", reals(rng, targets))
    return of_ml("TreeEnsembleRegressor", [no_missing_unequal(attributes, x)], version=3, n_targets=targets, aggregate_function=str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"])),
                 post_transform=transform(rng, targets), **attributes, **base)


@operator
def TreeEnsemble(rng):
    """ONNX Runtime takes transform 1 for 2 and 2 for 1, and transforms doubles as f32."""
    kind = [np.float32, np.float64][rng.integers(2)]
    number = TensorProto.FLOAT if kind == np.float32 else TensorProto.DOUBLE
    x, targets = with_missing(rng, features(rng, types=(kind,))), int(rng.integers(1, 4))
    nodes, leaves, roots, sets = [], 0, [], []
    for _ in range(int(rng.integers(1, 4))):
        roots.append(len(nodes))
        nodes.append(None)
        pending = [(roots[-1], 0)]
        while pending:
            at, depth = pending.pop(0)
            branches = []
            for _ in range(2):
                if depth < 3 and rng.random() < 0.6:
                    branches.append((len(nodes), 0))
                    pending.append((len(nodes), depth + 1))
                    nodes.append(None)
                else:
                    branches.append((leaves, 1))
                    leaves += 1
            nodes[at] = (int(rng.choice([0, 1, 2, 3, 4, 6])), int(rng.integers(x.shape[1])), float(rng.integers(-4, 5)), branches, int(rng.integers(2)))
    members = [value for node in nodes if node[0] == 6 for value in [*rng.choice([-3.0, -1.0, 0.0, 2.0, 5.0], 2, replace=False), float("nan")]]
    more = {"membership_values": helper.make_tensor("m", number, [len(members)], members)} if members else {}
    return of_ml("TreeEnsemble", [x], version=5, n_targets=targets, aggregate_function=int(rng.integers(4)), post_transform=3 if targets > 1 and kind == np.float32 else 0,
                 tree_roots=roots, nodes_modes=helper.make_tensor("o", TensorProto.UINT8, [len(nodes)], [node[0] for node in nodes]), nodes_featureids=[node[1] for node in nodes],
                 nodes_splits=helper.make_tensor("s", number, [len(nodes)], [node[2] for node in nodes]), nodes_truenodeids=[node[3][0][0] for node in nodes],
                 nodes_falsenodeids=[node[3][1][0] for node in nodes], nodes_trueleafs=[node[3][0][1] for node in nodes], nodes_falseleafs=[node[3][1][1] for node in nodes],
                 nodes_missing_value_tracks_true=maybe(rng, [node[4] for node in nodes]), leaf_targetids=[int(v) for v in rng.integers(0, targets, leaves)],
                 leaf_weights=helper.make_tensor("w", number, [leaves], reals(rng, leaves)), **more)


# Running and writing ---------------------------------------------------------------------------------------------------------------------


def name_of(case, prefix, i):
    return f"{prefix}.in{i}" + (".fixed" if case.fixed and i > 0 else "")


def node_of(case, prefix):
    inputs = [name_of(case, prefix, i) if value is not None else "" for i, value in enumerate(case.inputs)]
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = [f"{prefix}.out{k}" if k not in case.absent else "" for k in range(case.outputs)]
    return helper.make_node(case.op, inputs, outputs, name=prefix, domain=case.domain, **case.attributes)


def versions(case):
    """Of the default domain and of ai.onnx.ml, if the case needs it."""
    return case.opset, case.ml if case.domain == ML else None


def tensor_of(value, name):
    if isinstance(value, onnx.TensorProto):
        copy = onnx.TensorProto()
        copy.CopyFrom(value)
        copy.name = name
        return copy
    return numpy_helper.from_array(np.array(value, order="C"), name)


def model_of(nodes, tensors, outputs, opset, ml, expected=()):
    inputs = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors if not t.name.endswith(".fixed")]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializer=[*tensors, *expected])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(ML if ml else MS, ml or 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="onnxruntime " + ort.__version__)


def operands_of(case, prefix):
    return [tensor_of(value, name_of(case, prefix, i)) for i, value in enumerate(case.inputs) if value is not None]


def run(case):
    if case.same_as:
        same, change = case.same_as
        return [change(result) for result in run(same)]
    node = node_of(case, "c")
    names = [name for name in node.output if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    tensors = operands_of(case, "c")
    model = model_of([node], tensors, outputs, *versions(case))
    del model.graph.input[:]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {})


def in_half(case):
    """The same of f16."""
    half = lambda value: value.astype(np.float16) if isinstance(value, np.ndarray) and value.dtype == np.float32 else value
    case.inputs = [half(value) for value in case.inputs]
    if case.same_as:
        case.same_as[0].inputs = [half(value) for value in case.same_as[0].inputs]
    return case


#: Operators that are of f16 in every fourth case.
HALF = {
    "FusedConv", "FusedGemm", "FusedMatMul", "Gelu", "BiasGelu", "FastGelu", "QuickGelu", "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization", "MatMulIntegerToFloat", "NhwcConv", "NhwcFusedConv", "QuantizeLinear", "DequantizeLinear", "MatMulNBits", "MatMulBnb4", "GatherBlockQuantized",
    "Attention", "QAttention", "MultiHeadAttention", "RotaryEmbedding", "EmbedLayerNormalization", "BiasAdd", "BiasSoftmax", "GroupQueryAttention",
}


def write(folder, name, make, count, seed):
    rng = np.random.default_rng([seed, *name.encode()])
    by_version, failed = {}, {}
    tries = 0
    made = 0
    while made < count and tries < 3 * count + 20:
        tries += 1
        case = in_half(make(rng)) if name in HALF and made % 4 == 3 else make(rng)
        try:
            results = run(case)
        except Exception as error:  # a refusal of ONNX Runtime is no case
            failed.setdefault(str(error).split("\n")[0][:200], 0)
            failed[str(error).split("\n")[0][:200]] += 1
            continue
        prefix = f"{name}_{made}"
        made += 1
        node = node_of(case, prefix)
        names = [output for output in node.output if output]
        by_version.setdefault(versions(case), []).append((node, operands_of(case, prefix), [tensor_of(r, n + ".expected") for r, n in zip(results, names)]))
    for (opset, ml), cases in by_version.items():
        nodes = [case[0] for case in cases]
        tensors = [tensor for case in cases for tensor in case[1]]
        expected = [tensor for case in cases for tensor in case[2]]
        outputs = [helper.make_tensor_value_info(t.name.removesuffix(".expected"), t.data_type, t.dims) for t in expected]
        target = folder / (f"{name}.onnx" if len(by_version) == 1 else f"{name}_{ml or opset}.onnx")
        target.write_bytes(model_of(nodes, tensors, outputs, opset, ml, expected).SerializeToString())
    print(f"{name}: {made} cases" + "".join(f"\n  refused {n}×: {why}" for why, n in failed.items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, make in OPERATORS.items():
        if not arguments.only or name in arguments.only.split(","):
            write(arguments.folder, name, make, arguments.cases, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
