"""Derivatives of each operator alone against torch.func in double precision, for `cmake/dev bench derivatives --operators`: at random numbers
and at edges (0, ties, corners, ±∞), with broadcasting and axes. Numbers count where torch.func has finite ones."""
import pathlib
from dataclasses import dataclass, field

import numpy
import onnx
import table
from onnx import TensorProto, helper, numpy_helper

NETS = ()  # names of operators; none: all
TRANSFORMS = ("jvp", "vjp")
MOST, OPSET = 1e-12, 24
EDGES = [0.0, -0.0, 1, -1, 0.5, -0.5, 3, -3, 2, -2, numpy.inf, -numpy.inf]


@dataclass
class Case:
    """`call`: the operator in torch, of the same values; `fixed`: constant operands, by their places."""

    op: str
    call: object
    values: list
    attributes: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)
    outputs: int = 1
    form: str = ""


@dataclass
class Row:
    operator: str
    form: str
    transform: str
    error: float | None = None
    edges: int = 0
    note: str = ""

    @property
    def is_right(self) -> bool:
        return not self.note and self.error <= MOST


random = numpy.random.default_rng(3)


def draw(*dims, low=-2.0, high=2.0):
    return random.uniform(low, high, dims)


def with_edges(*dims, low=-2.0, high=2.0):
    """The edges, then random numbers."""
    count = numpy.prod(dims)
    return numpy.concatenate([EDGES, random.uniform(low, high, count - len(EDGES))]).reshape(dims)


def tied(*dims):
    """Whole numbers: many are equal."""
    return random.integers(-1, 2, dims).astype(float)


def elementwise():
    import torch
    from torch.nn import functional as f

    everywhere = {
        "Abs": torch.abs, "Asinh": torch.asinh, "Atan": torch.atan, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh, "Elu": f.elu, "Erf": torch.erf,
        "Exp": torch.exp, "Floor": torch.floor, "Gelu": f.gelu, "HardSwish": f.hardswish, "LeakyRelu": f.leaky_relu, "Mish": f.mish, "Neg": torch.neg,
        "Relu": torch.relu, "Round": torch.round, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh,
        "Softplus": lambda x: f.softplus(x, threshold=1e9), "Softsign": f.softsign, "Tanh": torch.tanh, "Identity": lambda x: x * 1, "Celu": f.celu,
        "Selu": f.selu, "Swish": f.silu, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal, "Log": torch.log, "Acos": torch.acos, "Asin": torch.asin,
        "Atanh": torch.atanh, "Acosh": torch.acosh, "Tan": torch.tan,
        "HardSigmoid": lambda x: torch.where((x * 0.25 + 0.5 > 0) & (x * 0.25 + 0.5 < 1), x * 0.25 + 0.5, (x > 0).to(x)),
        "ThresholdedRelu": lambda x: f.threshold(x, 1.0, 0.0), "Shrink": lambda x: f.softshrink(x, 0.5)}
    attributes = {"LeakyRelu": {"alpha": float(numpy.float32(0.01))}, "Selu": {}, "HardSigmoid": {"alpha": 0.25, "beta": 0.5},
                  "Shrink": {"lambd": 0.5, "bias": 0.5}, "ThresholdedRelu": {"alpha": 1.0}}
    slope = float(numpy.float32(0.01))
    everywhere["LeakyRelu"] = lambda x: f.leaky_relu(x, slope)
    gamma, alpha = float(numpy.float32(1.05070102214813232421875)), float(numpy.float32(1.67326319217681884765625))
    everywhere["Selu"] = lambda x: gamma * f.elu(x, alpha)
    for op, call in everywhere.items():
        yield Case(op, call, [with_edges(5, 8)], attributes.get(op, {}))
    yield Case("Elu", lambda x: f.elu(x, 0.75), [with_edges(5, 8)], {"alpha": 0.75}, form="alpha")
    yield Case("Celu", lambda x: f.celu(x, 0.75), [with_edges(5, 8)], {"alpha": 0.75}, form="alpha")
    yield Case("Swish", lambda x: x * torch.sigmoid(1.5 * x), [with_edges(5, 8)], {"alpha": 1.5}, form="alpha")
    yield Case("Gelu", lambda x: f.gelu(x, approximate="tanh"), [with_edges(5, 8)], {"approximate": "tanh"}, form="tanh")
    binary = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Max": torch.maximum, "Min": torch.minimum, "Pow": torch.pow}
    for op, call in binary.items():
        a, b = (draw(4, 5, low=0.5), draw(5, low=0.5)) if op == "Pow" else (draw(4, 5), draw(5))
        yield Case(op, call, [a, b], form="broadcast")
        yield Case(op, call, [draw(1, 3, 1, low=0.5), draw(4, 1, 2, low=0.5)], form="both broadcast")
        if op != "Pow":
            yield Case(op, call, [tied(4, 5), tied(4, 5)], form="ties")
    yield Case("Pow", lambda x: torch.pow(x, 2), [with_edges(4, 5)], fixed={1: numpy.array(2.0)}, form="square")
    yield Case("Pow", lambda x: torch.pow(x, 3), [with_edges(4, 5)], fixed={1: numpy.array(3.0)}, form="cube")
    yield Case("Pow", lambda x: torch.pow(x, 0.5), [with_edges(4, 5)], fixed={1: numpy.array(0.5)}, form="root")
    yield Case("Pow", torch.pow, [numpy.abs(tied(4, 5)), numpy.abs(tied(4, 5))], form="zeros")
    yield Case("PRelu", lambda x, slope: torch.where(x > 0, x, x * slope), [with_edges(2, 10, 3), draw(10, 1)])
    yield Case("Sum", lambda a, b, c: a + b + c, [draw(3, 4), draw(4), draw(3, 1)])
    yield Case("Mean", lambda a, b, c: (a + b + c) / 3, [draw(3, 4), draw(4), draw(3, 1)])
    yield Case("Where", lambda a, b: torch.where(torch.tensor([True, False, True]), a, b), [draw(4, 3), draw(3)], fixed={0: numpy.array([True, False, True])})
    low, high = numpy.array(-1.0), numpy.array(1.0)
    yield Case("Clip", lambda x: torch.clamp(x, -1, 1), [with_edges(4, 5)], fixed={1: low, 2: high}, form="constants")
    yield Case("Clip", lambda x: torch.clamp(x, min=-1), [with_edges(4, 5)], fixed={1: low}, form="one limit")
    yield Case("Clip", f.relu6, [with_edges(4, 5)], fixed={1: numpy.array(0.0), 2: numpy.array(6.0)}, form="relu6")
    yield Case("Clip", lambda x, a, b: torch.clamp(x, a, b), [tied(4, 5), numpy.array(-1.0), numpy.array(1.0)], form="limits")
    yield Case("Cast", lambda x: x * 1, [draw(3, 4)], {"to": TensorProto.DOUBLE})
    yield Case("CastLike", lambda x: x * 1, [draw(3, 4)], fixed={1: numpy.array(1.0)})
    yield Case("Dropout", lambda x: x * 1, [draw(3, 4)])


def products():
    import torch
    from torch.nn import functional as f

    for name, a, b in (("matrices", (3, 4), (4, 5)), ("batches", (2, 3, 4), (2, 4, 5)), ("broadcast", (2, 1, 3, 4), (3, 4, 2)), ("vectors", (4,), (4,)),
                       ("vector", (2, 3, 4), (4,)), ("row", (4,), (2, 4, 3))):
        yield Case("MatMul", torch.matmul, [draw(*a), draw(*b)], form=name)
    yield Case("Gemm", lambda a, b, c: 1.5 * a.T @ b.T + 0.5 * c, [draw(4, 3), draw(5, 4), draw(5)], {"alpha": 1.5, "beta": 0.5, "transA": 1, "transB": 1})
    yield Case("Einsum", lambda a, b: torch.einsum("bik,bkj->bji", a, b), [draw(2, 3, 4), draw(2, 4, 5)], {"equation": "bik,bkj->bji"})
    for name, x, w, words in (("plain", (2, 3, 7, 8), (4, 3, 3, 2), {}), ("strided", (2, 3, 7, 8), (4, 3, 3, 3), {"stride": (2, 2), "padding": (1, 1)}),
                              ("uneven", (2, 5, 9, 8), (4, 5, 3, 2), {"stride": (3, 2), "padding": (1, 0)}), ("point", (2, 3, 5, 5), (4, 3, 1, 1), {"stride": (2, 2)}),
                              ("dilated", (2, 3, 9, 9), (4, 3, 3, 3), {"dilation": (2, 3), "padding": (2, 1)}),
                              ("groups", (2, 6, 5, 6), (4, 3, 3, 3), {"groups": 2, "padding": (1, 1)}),
                              ("depthwise", (2, 4, 7, 7), (4, 1, 3, 3), {"groups": 4, "stride": (2, 2), "padding": (1, 1)}), ("line", (2, 3, 9), (4, 3, 3), {"stride": (2,)}),
                              ("volume", (2, 2, 4, 5, 4), (3, 2, 2, 3, 2), {}), ("late", (2, 16, 2, 2), (24, 16, 3, 3), {"padding": (1, 1)})):
        axes = len(x) - 2
        call = (f.conv1d, f.conv2d, f.conv3d)[axes - 1]
        attributes = {"strides": words.get("stride", (1,) * axes), "dilations": words.get("dilation", (1,) * axes), "group": words.get("groups", 1),
                      "pads": words.get("padding", (0,) * axes) * 2}
        yield Case("Conv", lambda x, w, b, call=call, words=words: call(x, w, b, **words), [draw(*x), draw(*w), draw(w[0])], attributes, form=name)
    for name, w, words, attributes in (("strided", (3, 2, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1},
                                        {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}),
                                       ("groups", (4, 3, 2, 2), {"groups": 2}, {"group": 2})):
        yield Case("ConvTranspose", lambda x, w, b, words=words: f.conv_transpose2d(x, w, b, **words),
                   [draw(2, w[0], 4, 5), draw(*w), draw(w[1] * words.get("groups", 1))], attributes, form=name)


def pools():
    from torch.nn import functional as f

    for name, make in (("random", draw), ("ties", tied)):
        yield Case("MaxPool", lambda x: f.max_pool2d(x, 3, 2, 1), [make(2, 3, 7, 8)], {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}, form=name)
        yield Case("GlobalMaxPool", lambda x: f.adaptive_max_pool2d(x, 1), [make(2, 3, 4, 5)], form=name)
    for counts in (0, 1):
        yield Case("AveragePool", lambda x, counts=counts: f.avg_pool2d(x, 3, 2, 1, count_include_pad=bool(counts)), [draw(2, 3, 7, 8)],
                   {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1), "count_include_pad": counts}, form=f"count_include_pad {counts}")
    yield Case("GlobalAveragePool", lambda x: f.adaptive_avg_pool2d(x, 1), [draw(2, 3, 4, 5)])
    for mode, words in (("nearest", {}), ("linear", {"align_corners": False}), ("cubic", {"align_corners": False}), ("corners", {"align_corners": True})):
        attributes = {"mode": "linear", "coordinate_transformation_mode": "align_corners"} if mode == "corners" else {"mode": mode}
        attributes |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if mode == "nearest" else {}
        kind = {"nearest": "nearest", "cubic": "bicubic"}.get(mode, "bilinear")
        yield Case("Resize", lambda x, kind=kind, words=words: f.interpolate(x, size=(8, 7), mode=kind, **words), [draw(2, 3, 4, 5)], attributes,
                   {1: None, 2: None, 3: numpy.array([2, 3, 8, 7])}, form=mode)


def movements():
    import torch
    from torch.nn import functional as f

    def integers(*values):
        return numpy.array(values, numpy.int64)

    yield Case("Reshape", lambda x: x.reshape(2, 12), [draw(2, 3, 4)], fixed={1: integers(0, -1)})
    yield Case("Flatten", lambda x: x.flatten(1), [draw(2, 3, 4)])
    yield Case("Transpose", lambda x: x.permute(2, 0, 1), [draw(2, 3, 4)], {"perm": (2, 0, 1)})
    yield Case("Squeeze", lambda x: x.squeeze(1), [draw(2, 1, 4)], fixed={1: integers(1)})
    yield Case("Unsqueeze", lambda x: x.unsqueeze(1), [draw(2, 4)], fixed={1: integers(1)})
    yield Case("Expand", lambda x: x.expand(3, 2, 5, 4), [draw(2, 1, 4)], fixed={1: integers(3, 1, 5, 1)})
    yield Case("Tile", lambda x: x.repeat(3, 2), [draw(2, 3)], fixed={1: integers(3, 2)})
    for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular")):
        yield Case("Pad", lambda x, name=name: f.pad(x, (1, 2), mode=name), [draw(2, 3, 5)], {"mode": mode}, {1: integers(0, 0, 1, 0, 0, 2)}, form=mode)
    yield Case("Concat", lambda a, b: torch.cat([a, b], 1), [draw(2, 3), draw(2, 2)], {"axis": 1})
    yield Case("Split", lambda x: x.split([2, 3], 1)[0], [draw(2, 5)], {"axis": 1}, {1: integers(2, 3)}, outputs=2)
    yield Case("Slice", lambda x: x.flip(1)[:, ::2], [draw(2, 6)], fixed={1: integers(-1), 2: integers(-9), 3: integers(1), 4: integers(-2)})
    yield Case("Gather", lambda x: x[:, [[0, 2], [2, 1]]], [draw(3, 4)], {"axis": 1}, {1: numpy.array([[0, 2], [2, 1]])})
    index = torch.tensor([[2, 1], [2, 0]])
    yield Case("GatherElements", lambda x: x.gather(0, index), [draw(3, 2)], fixed={1: index.numpy()})
    yield Case("GatherND", lambda x: x[[2, 0], [1, 0]], [draw(3, 2, 2)], fixed={1: numpy.array([[2, 1], [0, 0]])})
    yield Case("ScatterElements", lambda x, u: x.scatter_add(0, index, u), [draw(3, 2), draw(2, 2)], {"reduction": "add"}, {1: index.numpy()})
    yield Case("ScatterND", lambda x, u: x.index_add(0, torch.tensor([2, 1, 2]), u), [draw(3, 2), draw(3, 2)], {"reduction": "add"}, {1: numpy.array([[2], [1], [2]])})
    yield Case("TopK", lambda x: x.topk(3, 1).values, [draw(2, 6)], fixed={1: integers(3)}, outputs=2)
    yield Case("CumSum", lambda x: x.cumsum(1), [draw(2, 5)], fixed={1: numpy.array(1)})
    yield Case("CumSum", lambda x: x.flip(1).cumsum(1).flip(1), [draw(2, 5)], {"reverse": 1}, {1: numpy.array(1)}, form="reverse")
    yield Case("Trilu", torch.tril, [draw(2, 4, 4)], {"upper": 0})
    yield Case("DepthToSpace", lambda x: f.pixel_shuffle(x, 2), [draw(2, 8, 3, 2)], {"blocksize": 2, "mode": "CRD"})
    yield Case("SpaceToDepth", lambda x: f.pixel_unshuffle(x, 2).reshape(2, 2, 4, 2, 3).transpose(1, 2).flatten(1, 2), [draw(2, 2, 4, 6)], {"blocksize": 2})
    yield Case("ReverseSequence", lambda x: torch.stack([torch.cat([x[:n, i].flip(0), x[n:, i]]) for i, n in enumerate((3, 2))], 1), [draw(4, 2, 3)],
               fixed={1: integers(3, 2)})


def reductions():
    import torch
    from torch.nn import functional as f

    calls = {"ReduceSum": torch.sum, "ReduceMean": torch.mean, "ReduceMax": torch.amax, "ReduceMin": torch.amin, "ReduceLogSumExp": torch.logsumexp,
             "ReduceL1": lambda x, dim, keepdim: x.abs().sum(dim, keepdim), "ReduceL2": lambda x, dim, keepdim: torch.linalg.vector_norm(x, 2, dim, keepdim),
             "ReduceSumSquare": lambda x, dim, keepdim: (x * x).sum(dim, keepdim), "ReduceLogSum": lambda x, dim, keepdim: x.sum(dim, keepdim).log()}
    for op, call in calls.items():
        low = 0.5 if op == "ReduceLogSum" else -2.0
        for axes, keeps in (((1,), True), ((0, 2), False)):
            yield Case(op, lambda x, call=call, axes=axes, keeps=keeps: call(x, dim=axes, keepdim=keeps), [draw(2, 3, 4, low=low)], {"keepdims": int(keeps)},
                       {1: numpy.array(axes)}, form=f"axes {axes}".replace(",)", ")"))
        if op != "ReduceLogSum":
            yield Case(op, lambda x, call=call: call(x, dim=(1,), keepdim=False), [tied(4, 5)], {"keepdims": 0}, {1: numpy.array([1])}, form="ties")
    for name, x in (("random", draw(4, 5)), ("zeros", tied(4, 5))):
        yield Case("ReduceProd", lambda x: x.prod(1), [x], {"keepdims": 0}, {1: numpy.array([1])}, form=name)
    yield Case("ReduceL2", lambda x: torch.linalg.vector_norm(x, 2, (1,), False), [numpy.zeros((2, 3))], {"keepdims": 0}, {1: numpy.array([1])}, form="zeros")
    for op, call in (("Softmax", torch.softmax), ("LogSoftmax", torch.log_softmax)):
        for axis in (-1, 1):
            yield Case(op, lambda x, call=call, axis=axis: call(x, axis), [draw(2, 3, 4)], {"axis": axis}, form=f"axis {axis}")
        masked = draw(3, 4)
        masked[1, 1:3] = -numpy.inf
        yield Case(op, lambda x, call=call: call(x, -1), [masked], form="masked by −∞")


def normalizations():
    import torch
    from torch.nn import functional as f

    small = float(numpy.float32(1e-5))
    scale, shift = draw(3, low=0.5), draw(3)
    yield Case("BatchNormalization", lambda x, s, b, m, v: (x - m[:, None]) / (v[:, None] + 0.125).sqrt() * s[:, None] + b[:, None],
               [draw(2, 3, 4), scale, shift, draw(3), draw(3, low=0.5)], {"epsilon": 0.125})
    yield Case("LayerNormalization", lambda x, s, b: f.layer_norm(x, (4,), s, b, small), [draw(2, 3, 4), draw(4), draw(4)])
    yield Case("LayerNormalization", lambda x, s: f.layer_norm(x, (3, 4), s, eps=small), [draw(2, 3, 4), draw(3, 4)], {"axis": 1}, form="axis 1")
    yield Case("RMSNormalization", lambda x, s: f.rms_norm(x, (4,), s, small), [draw(2, 3, 4), draw(4)])
    yield Case("InstanceNormalization", lambda x, s, b: f.instance_norm(x, weight=s, bias=b, eps=small), [draw(2, 3, 4, 5), scale, shift])
    yield Case("GroupNormalization", lambda x, s, b: f.group_norm(x, 2, s, b, small), [draw(2, 4, 3, 3), draw(4), draw(4)], {"num_groups": 2})
    yield Case("MeanVarianceNormalization", lambda x: (x - x.mean((0, 2, 3), True)) / (x.var((0, 2, 3), unbiased=False, keepdim=True).sqrt() + 1e-9),
               [draw(2, 3, 4, 5)])
    yield Case("LpNormalization", lambda x: x / torch.linalg.vector_norm(x, 2, -1, True), [draw(2, 3, 4)])
    yield Case("LRN", lambda x: f.local_response_norm(x, 3, 0.5, 0.75, 1.0), [draw(2, 5, 3, 4)], {"size": 3, "alpha": 0.5, "beta": 0.75})
    labels = numpy.array([2, 0, 1, 2])
    for op, call in (("SoftmaxCrossEntropyLoss", f.cross_entropy), ("NegativeLogLikelihoodLoss", f.nll_loss)):
        for reduction in ("mean", "sum", "none"):
            yield Case(op, lambda x, call=call, reduction=reduction: call(x, torch.as_tensor(labels), reduction=reduction), [draw(4, 3)], {"reduction": reduction},
                       {1: labels}, form=reduction)


def recurrent():
    import torch

    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        weights = [draw(1, gates * 2, 3), draw(1, gates * 2, 2), draw(1, gates * 4)]
        order = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}[op]  # of torch's gates in ONNX's

        module = getattr(torch.nn, op)(3, 2).double()

        def call(x, w, r, b, module=module, gates=gates, order=order):
            def sorted_gates(value):
                return torch.cat([value.reshape(gates, 2, -1)[i] for i in order])

            bias = b[0].reshape(2, gates, 2)[:, order, :].reshape(2, -1)
            state = {"weight_ih_l0": sorted_gates(w[0]), "weight_hh_l0": sorted_gates(r[0]), "bias_ih_l0": bias[0], "bias_hh_l0": bias[1]}
            return torch.func.functional_call(module, state, (x,))[0].unsqueeze(1)

        yield Case(op, call, [draw(4, 2, 3), *weights], {"hidden_size": 2} | ({"linear_before_reset": 1} if op == "GRU" else {}), outputs=2)


def attention():
    import torch

    sdpa = torch.nn.functional.scaled_dot_product_attention
    query, key, value = draw(2, 4, 5, 6), draw(2, 4, 3, 6), draw(2, 4, 3, 6)
    mask = numpy.array([[1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]], bool)
    yield Case("Attention", sdpa, [query, key, value])
    yield Case("Attention", lambda q, k, v: sdpa(q, k, v, attn_mask=torch.as_tensor(mask)), [query, key, value], fixed={3: mask}, form="mask")
    yield Case("Attention", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m, scale=0.75), [query, key, value, draw(5, 3)], {"scale": 0.75}, form="bias")
    yield Case("Attention", lambda q, k, v: sdpa(q, k, v, is_causal=True), [query, draw(2, 4, 5, 6), draw(2, 4, 5, 6)], {"is_causal": 1}, form="causal")
    yield Case("Attention", lambda q, k, v: sdpa(q, k, v, enable_gqa=True), [query, draw(2, 2, 3, 6), draw(2, 2, 3, 6)], form="groups")


def model_of(case: Case):
    places = iter(range(len(case.values)))
    names, initializers = [], []
    for i in range(len(case.values) + len(case.fixed)):
        if i not in case.fixed:
            names.append(f"x{next(places)}")
        elif case.fixed[i] is None:
            names.append("")
        else:
            names.append(f"c{i}")
            initializers.append(numpy_helper.from_array(case.fixed[i], names[-1]))
    outputs = ["y", *(f"y{i}" for i in range(1, case.outputs))]
    node = helper.make_node(case.op, names, outputs, **case.attributes)
    inputs = [helper.make_tensor_value_info(f"x{i}", TensorProto.DOUBLE, value.shape) for i, value in enumerate(case.values)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def measure(bench, case: Case, transform: str) -> Row:
    import torch

    row = Row(case.op, case.form, transform, edges=sum(int(numpy.isin(value, EDGES).sum()) for value in case.values))
    try:
        file, out = bench.folder / "operator.onnx", bench.folder / "derived.onnx"
        onnx.save(model_of(case), file)
        bench.call("derive", transform, file, "-o", out)
        primals = tuple(torch.as_tensor(value) for value in case.values)
        names = [f"x{i}" for i in range(len(primals))]
        data = dict(zip(names, case.values))
        if transform == "jvp":
            tangents = tuple(torch.as_tensor(draw(*value.shape)) for value in primals)
            expected = [torch.func.jvp(case.call, primals, tangents)[1]]
            found = bench.run(out, data | {name + ".tangent": one.numpy() for name, one in zip(names, tangents)}, ["y.tangent"], "--mode", "reference")
        else:
            value, back = torch.func.vjp(case.call, *primals)
            cotangent = torch.as_tensor(draw(*value.shape))
            expected = back(cotangent)
            found = bench.run(out, data | {"y.cotangent": cotangent.numpy()}, [name + ".gradient" for name in names], "--mode", "reference")
        row.error = 0.0
        for a, b in zip(found, (one.detach().numpy() for one in expected), strict=True):
            if a.shape != b.shape:
                raise ValueError(f"dims {a.shape}, not {b.shape}")
            counts = numpy.isfinite(b)
            largest = max(1.0, numpy.abs(b[counts]).max(initial=0))
            with numpy.errstate(invalid="ignore"):
                row.error = max(row.error, float(numpy.nan_to_num(numpy.abs(a - b)[counts], nan=numpy.inf).max(initial=0)) / largest)
    except Exception as problem:  # of one row: the others continue
        row.note = f"{type(problem).__name__}: {problem}"[:300].replace("\n", " ")
    return row


def lines(rows) -> list[str]:
    head = ["operator", "form", "transform", "error", "edges", "right", "note"]
    return table.lines(head, [[row.operator, row.form, row.transform, row.error, row.edges, "yes" if row.is_right else "NO", row.note] for row in rows])


def measured(program, names, only, folder: pathlib.Path) -> list[Row]:
    from derivatives import Bench

    bench, rows = Bench(program, folder), []
    for family in (elementwise, products, pools, movements, reductions, normalizations, recurrent, attention):
        for case in family():
            if not names or case.op in names:
                rows += [measure(bench, case, transform) for transform in only]
    return rows
