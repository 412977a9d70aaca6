"""Writes cases of operators of other domains with what ONNX Runtime makes of them: one file per operator into FOLDER.

  python onnxruntime_operators.py FOLDER [--cases N] [--seed S] [--only NAME,…]

Each file is a model whose nodes are the cases. Operands are initializers that are graph inputs too, `CASE.inN`; the results of ONNX Runtime's
CPU provider, without optimization, are initializers that no node reads, `CASE.outN.expected`. composed_test.cpp runs them.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"


class Case:
    """One node: operands (None: absent), attributes, number of outputs; `absent` outputs are not asked for."""

    def __init__(self, op, inputs, outputs=1, domain=MS, opset=17, absent=(), **attributes):
        self.op, self.inputs, self.outputs, self.domain, self.opset = op, inputs, outputs, domain, opset
        self.absent, self.attributes = absent, {k: v for k, v in attributes.items() if v is not None}


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


# Running and writing ---------------------------------------------------------------------------------------------------------------------


def node_of(case, prefix):
    inputs = [f"{prefix}.in{i}" if value is not None else "" for i, value in enumerate(case.inputs)]
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = [f"{prefix}.out{k}" if k not in case.absent else "" for k in range(case.outputs)]
    return helper.make_node(case.op, inputs, outputs, name=prefix, domain=case.domain, **case.attributes)


def tensor_of(value, name):
    if isinstance(value, onnx.TensorProto):
        copy = onnx.TensorProto()
        copy.CopyFrom(value)
        copy.name = name
        return copy
    return numpy_helper.from_array(np.ascontiguousarray(value), name)


def model_of(nodes, tensors, outputs, opset, expected=()):
    inputs = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializer=[*tensors, *expected])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, producer_name="onnxruntime " + ort.__version__)


def operands_of(case, prefix):
    return [tensor_of(value, f"{prefix}.in{i}") for i, value in enumerate(case.inputs) if value is not None]


def run(case):
    node = node_of(case, "c")
    names = [name for name in node.output if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    tensors = operands_of(case, "c")
    model = model_of([node], tensors, outputs, case.opset)
    del model.graph.input[:]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {})


def write(folder, name, make, count, seed):
    rng = np.random.default_rng([seed, *name.encode()])
    by_opset, failed = {}, {}
    tries = 0
    made = 0
    while made < count and tries < 3 * count + 20:
        tries += 1
        case = make(rng)
        try:
            results = run(case)
        except Exception as error:  # what ONNX Runtime refuses is no case
            failed.setdefault(str(error).split("\n")[0][:200], 0)
            failed[str(error).split("\n")[0][:200]] += 1
            continue
        prefix = f"{name}_{made}"
        made += 1
        node = node_of(case, prefix)
        names = [output for output in node.output if output]
        by_opset.setdefault(case.opset, []).append((node, operands_of(case, prefix), [tensor_of(r, n + ".expected") for r, n in zip(results, names)]))
    for opset, cases in by_opset.items():
        nodes = [case[0] for case in cases]
        tensors = [tensor for case in cases for tensor in case[1]]
        expected = [tensor for case in cases for tensor in case[2]]
        outputs = [helper.make_tensor_value_info(t.name.removesuffix(".expected"), t.data_type, t.dims) for t in expected]
        target = folder / (f"{name}.onnx" if len(by_opset) == 1 else f"{name}_{opset}.onnx")
        target.write_bytes(model_of(nodes, tensors, outputs, opset, expected).SerializeToString())
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
