"""Faults of single operators: another one in its place, other attributes, exchanged operands, other elements of its constants."""
import numpy
import onnx
from faults import HEAVY, Fault, pick, weights
from onnx import helper

# Inputs with the scales and shifts of normalizations.
OF_NORMS = {"BatchNormalization": (1, 2, 3, 4), "LayerNormalization": (1, 2), "SkipLayerNormalization": (2, 3), "SimplifiedLayerNormalization": (1,),
            "SkipSimplifiedLayerNormalization": (2,), "InstanceNormalization": (1, 2), "GroupNormalization": (1, 2)}
# The input with the scale of a quantized result.
OF_RESULTS = {"QLinearConv": 6, "QLinearMatMul": 6, "QGemm": 7, "QLinearAdd": 6, "QLinearMul": 6, "QLinearSigmoid": 3, "QLinearGlobalAveragePool": 3,
              "QLinearSoftmax": 3, "QLinearAveragePool": 3, "QLinearConcat": 0, "QuantizeLinear": 1, "QLinearLeakyRelu": 3}
# The input with the scales of channels.
OF_CHANNELS = {"DequantizeLinear": 1, "QLinearConv": 4, "QLinearMatMul": 4, "QGemm": 4, "MatMulIntegerToFloat": 3, "DynamicQuantizeMatMul": 2}
OTHERS = {"Add": "Sub", "Sub": "Add", "MaxPool": "AveragePool", "GlobalAveragePool": "GlobalMaxPool", "Max": "Min", "Min": "Max", "ReduceMean": "ReduceMax",
          "Sqrt": "Abs", "Exp": "Softplus", "Cos": "Sin", "Sin": "Cos"}
OTHER_COMPARISONS = {"Less": "LessOrEqual", "LessOrEqual": "Less", "Greater": "GreaterOrEqual", "GreaterOrEqual": "Greater", "And": "Or", "Or": "And"}
BYPASSED = HEAVY | {"BatchNormalization", "LayerNormalization", "MaxPool", "AveragePool", "InstanceNormalization", "Mul", "Sqrt", "Pow", "Exp", "Softplus",
                    "Softmax"}


def set_attribute(net, node, name, value):
    one = net.attribute(node, name)
    if one is not None:
        node.attribute.remove(one)
    node.attribute.append(helper.make_attribute(name, value))


def value_of(net, node, name, default=None):
    one = net.attribute(node, name)
    return default if one is None else helper.get_attribute_value(one)


def op_replaced(table):
    def plant(net, dice):
        node = pick(dice, (node for node in net.nodes if node.op_type in table))
        if node:
            node.op_type = table[node.op_type]
            return [node]
    return plant


def inputs_exchanged(types, i, j):
    def plant(net, dice):
        node = pick(dice, (node for node in net.nodes if node.op_type in types and len(node.input) > max(i, j) and node.input[i] != node.input[j]))
        if node:
            node.input[i], node.input[j] = node.input[j], node.input[i]
            return [node]
    return plant


def concat_reversed(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type == "Concat" and len(node.input) > 1 and node.input[0] != node.input[-1]
                       and not any(net.source(v) for v in node.input)))
    if node:
        names = list(node.input)[::-1]
        del node.input[:]
        node.input.extend(names)
        return [node]


def split_exchanged(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type == "Split" and len(node.output) > 1))
    if node:
        a, b = node.output[0], node.output[1]
        near = net.region(node, *net.readers(a), *net.readers(b))
        node.output[0], node.output[1] = b, a
        return near


def gather_index(net, dice):
    def fitting():
        for node in net.nodes:
            if node.op_type == "Gather" and node.input[1] in net.constants and node.input[0] not in net.constants:
                v = net.get(node.input[1])
                maker = net.maker(node.input[0])
                if v.size >= 1 and v.dtype.kind == "i" and not (maker is not None and maker.op_type == "Shape"):
                    yield node
    node = pick(dice, fitting())
    if node:
        name = net.own_copy(node, 1)
        v = net.get(name)
        net.put(name, numpy.where(v > 0, v - 1, v + 1).astype(v.dtype) if v.size == 1 else v[::-1].copy())
        return [node]


def slice_moved(net, dice):
    """Both ends by one, where there is room."""
    def fitting():
        for node in net.nodes:
            if node.op_type == "Slice" and all(value in net.constants for value in node.input[1:3]) and node.input[0] not in net.constants:
                s, e = net.get(node.input[1]), net.get(node.input[2])
                if s.size == 1 and 0 <= int(s[0]) < int(e[0]) < 2**31:
                    yield node
    node = pick(dice, fitting())
    if node:
        a, b = net.own_copy(node, 1), net.own_copy(node, 2)
        s, e = net.get(a), net.get(b)
        step = 1 if int(s[0]) == 0 else -1
        net.put(a, s + step)
        net.put(b, e + step)
        return [node]


def clip_bound(which, change):
    def plant(net, dice):
        def fitting():
            for node in net.nodes:
                if node.op_type == "Clip" and len(node.input) > which and node.input[which] in net.constants and net.get(node.input[which]).dtype.kind == "f":
                    yield node
        node = pick(dice, fitting())
        if node:
            name = net.own_copy(node, which)
            net.put(name, change(net.get(name)).astype(net.get(name).dtype))
            return [node]
    return plant


def dilated(net, dice):
    def fitting():
        for node in net.nodes:
            if node.op_type in ("Conv", "FusedConv", "QLinearConv") and value_of(net, node, "group", 1) >= 1:
                kernel, pads = value_of(net, node, "kernel_shape"), value_of(net, node, "pads")
                if kernel and pads and max(kernel) == 3 and min(pads) >= 1 and max(value_of(net, node, "dilations", [1])) == 1:
                    yield node
    node = pick(dice, fitting())
    if node:
        pads = value_of(net, node, "pads")
        set_attribute(net, node, "dilations", [2] * (len(pads) // 2))
        set_attribute(net, node, "pads", [p + 1 for p in pads])
        return [node]


def stride_changed(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type in ("Conv", "FusedConv", "QLinearConv", "MaxPool", "AveragePool")))
    if node:
        strides = value_of(net, node, "strides", [1, 1])
        set_attribute(net, node, "strides", [1 if s > 1 else 2 for s in strides])
        return [node]


def groups_exchanged(net, dice):
    def fitting():
        for node in net.nodes:
            if node.op_type in ("Conv", "FusedConv", "QLinearConv") and value_of(net, node, "group", 1) > 1:
                name = net.source(node.input[3 if node.op_type == "QLinearConv" else 1])
                if name:
                    yield node, name
    found = pick(dice, fitting())
    if found:
        v = net.get(found[1]).copy()
        half = v.shape[0] // 2
        net.put(found[1], numpy.concatenate([v[half:], v[:half]]))
        return [found[0]]


def square_transposed(net, dice):
    found = pick(dice, ((node, name) for node, name in weights(net) if net.get(name).ndim == 2 and net.get(name).shape[0] == net.get(name).shape[1]))
    if found:
        net.put(found[1], net.get(found[1]).T.copy())
        return [found[0]]


def kernel_flipped(floating):
    def plant(net, dice):
        found = pick(dice, ((node, name) for node, name in weights(net, floating) if net.get(name).ndim >= 3 and net.get(name).shape[-1] > 1))
        if found:
            net.put(found[1], numpy.flip(net.get(found[1]), -1).copy())
            return [found[0]]
    return plant


def channel_zeroed(floating):
    def plant(net, dice):
        found = pick(dice, weights(net, floating))
        if found:
            v = net.get(found[1]).copy()
            axis = -1 if v.ndim == 2 else 0
            i = dice.randrange(v.shape[axis])
            if axis == 0:
                v[i] = 0
            else:
                v[:, i] = 0
            net.put(found[1], v)
            return [found[0]]
    return plant


def weights_to_bf16(net, dice):
    found = pick(dice, weights(net))
    if found and net.get(found[1]).dtype == numpy.float32:
        v = net.get(found[1])
        bits = (v.view(numpy.uint32) + 0x8000) & 0xFFFF0000
        net.put(found[1], bits.astype(numpy.uint32).view(numpy.float32))
        return [found[0]]


def element_changed(net, dice):
    found = pick(dice, weights(net))
    if found:
        v = net.get(found[1]).copy()
        i = tuple(dice.randrange(d) for d in v.shape)
        v[i] = -4 * v[i] if abs(v[i]) > 1e-3 else v.dtype.type(0.5)
        net.put(found[1], v)
        return [found[0]]


def bias_channel(net, dice):
    def biased():
        for node in net.nodes:
            index = 2
            if node.op_type in ("Conv", "Gemm", "FusedConv", "ConvTranspose", "LayerNormalization") and len(node.input) > index:
                name = net.source(node.input[index])
                if name and net.get(name).dtype.kind == "f" and net.get(name).size > 1:
                    yield node, name
            if node.op_type == "Add":
                for v in node.input:
                    if v in net.constants and net.get(v).dtype.kind == "f" and net.get(v).size > 4:
                        yield node, v
    found = pick(dice, biased())
    if found:
        v = net.get(found[1]).copy()
        i = dice.randrange(v.size)
        v.reshape(-1)[i] += v.dtype.type(0.5)
        net.put(found[1], v)
        return [found[0]]


def rows_exchanged(net, dice):
    """Of a table."""
    found = pick(dice, ((node, node.input[0]) for node in net.nodes if node.op_type in ("Gather", "EmbedLayerNormalization") and node.input[0] in net.constants
                        and net.get(node.input[0]).ndim == 2 and net.get(node.input[0]).dtype.kind == "f"))
    if found:
        v = net.get(found[1])
        net.put(found[1], numpy.roll(v, 1, 0).copy())
        return [found[0]]


def norm_operand(factor):
    def plant(net, dice):
        def fitting():
            for node in net.nodes:
                for p in OF_NORMS.get(node.op_type, ()):
                    if p < len(node.input) and net.source(node.input[p]) and net.get(net.source(node.input[p])).dtype.kind == "f":
                        yield node, net.source(node.input[p])
        found = pick(dice, fitting())
        if found:
            net.put(found[1], (net.get(found[1]) * factor).astype(net.get(found[1]).dtype))
            return [found[0]]
    return plant


def axes_moved(net, dice):
    def fitting():
        for node in net.nodes:
            if node.op_type in ("ReduceMean", "ReduceSum", "ReduceMax") and value_of(net, node, "keepdims", 1) == 1:
                axes = value_of(net, node, "axes")
                if axes is None and len(node.input) > 1 and node.input[1] in net.constants:
                    axes = [int(a) for a in net.get(node.input[1]).reshape(-1)]
                if axes == [-1]:
                    yield node
    node = pick(dice, fitting())
    if node:
        if net.attribute(node, "axes") is not None:
            set_attribute(net, node, "axes", [-2])
        else:
            name = net.own_copy(node, 1)
            net.put(name, numpy.full_like(net.get(name), -2))
        return [node]


def resize_changed(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type in ("Resize", "Upsample")))
    if node:
        mode = value_of(net, node, "mode", b"nearest")
        if dice.random() < 0.5 or node.op_type == "Upsample":
            set_attribute(net, node, "mode", "linear" if mode == b"nearest" else "nearest")
        else:
            was = value_of(net, node, "coordinate_transformation_mode", b"half_pixel")
            set_attribute(net, node, "coordinate_transformation_mode", "align_corners" if was != b"align_corners" else "asymmetric")
        return [node]


def pad_changed(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type == "Pad"))
    if node:
        set_attribute(net, node, "mode", "edge" if value_of(net, node, "mode", b"constant") == b"constant" else "constant")
        del node.input[2:]
        return [node]


def flag_flipped(name, types, default):
    def plant(net, dice):
        node = pick(dice, (node for node in net.nodes if node.op_type in types))
        if node:
            set_attribute(net, node, name, 1 - value_of(net, node, name, default))
            return [node]
    return plant


def gates_exchanged(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type in ("LSTM", "GRU") and node.input[1] in net.constants))
    if node:
        index = dice.choice([1, 2])
        name = net.own_copy(node, index)
        v, h = net.get(name).copy(), value_of(net, node, "hidden_size")
        first, second = v[:, :h].copy(), v[:, h:2 * h].copy()
        v[:, :h], v[:, h:2 * h] = second, first
        net.put(name, v)
        return [node]


def heads_changed(net, dice):
    attentions = (node for node in net.nodes if node.op_type in ("Attention", "MultiHeadAttention", "QAttention"))
    node = pick(dice, (node for node in attentions if value_of(net, node, "num_heads", 1) > 1))
    if node:
        set_attribute(net, node, "num_heads", value_of(net, node, "num_heads") // 2)
        return [node]


def node_bypassed(net, dice):
    """A Transpose, a normalization, a whole linear layer whose result has its operand's dims."""
    info = {v.name: [d.dim_value or d.dim_param for d in v.type.tensor_type.shape.dim] for v in onnx.shape_inference.infer_shapes(net.model).graph.value_info}
    def fitting():
        for node in net.nodes:
            if node.op_type in BYPASSED:
                x, y = info.get(node.input[0]), info.get(node.output[0])
                if x and x == y and net.readers(node.output[0]):
                    yield node
    node = pick(dice, fitting())
    if node:
        near = [node, net.maker(node.input[0]), *net.readers(node.output[0])]
        names = net.region(*[one for one in near if one is not None])
        net.bypass(node)
        return names


def scalar_changed(types, index, change):
    def plant(net, dice):
        def fitting():
            for node in net.nodes:
                if node.op_type in types and len(node.input) > index and node.input[index] in net.constants:
                    value = net.get(node.input[index])
                    if value.size == 1 and value.dtype.kind == "f":
                        yield node
        node = pick(dice, fitting())
        if node:
            name = net.own_copy(node, index)
            net.put(name, change(net.get(name)).astype(net.get(name).dtype))
            return [node]
    return plant


# --- quantized operators ----------------------------------------------------------------------------------------------------


def blocks_exchanged(net, dice):
    blocked = (node for node in net.nodes if node.op_type in ("MatMulNBits", "GatherBlockQuantized") and node.input[2] in net.constants)
    node = pick(dice, (node for node in blocked if net.get(node.input[2]).size > 4))
    if node:
        v = net.get(node.input[2]).copy()
        flat = v.reshape(-1)
        half = flat.size // 2
        net.put(node.input[2], numpy.concatenate([flat[half:], flat[:half]]).reshape(v.shape))
        return [node]


def block_weights_exchanged(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type == "MatMulNBits" and node.input[1] in net.constants and net.get(node.input[1]).shape[1] > 1))
    if node:
        net.put(node.input[1], net.get(node.input[1])[:, ::-1].copy())
        return [node]


def block_zero_points(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type == "MatMulNBits" and len(node.input) > 3 and node.input[3] in net.constants))
    if node:
        net.put(node.input[3], net.get(node.input[3]) ^ net.get(node.input[3]).dtype.type(0x22))
        return [node]


def qlinear_operands(net, dice):
    binary = (node for node in net.nodes if node.op_type in ("QLinearAdd", "QLinearMul") and node.input[0] != node.input[3])
    node = pick(dice, (node for node in binary if node.input[0] not in net.constants and node.input[3] not in net.constants))
    if node:
        node.input[0], node.input[3] = node.input[3], node.input[0]
        return [node]


def qlinear_concat(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type == "QLinearConcat" and len(node.input) >= 8))
    if node:
        node.input[2], node.input[5] = node.input[5], node.input[2]
        return [node]


def channel_scales_permuted(net, dice):
    def fitting():
        for node in net.nodes:
            index = OF_CHANNELS.get(node.op_type)
            if index and index < len(node.input) and node.input[index] in net.constants and net.get(node.input[index]).size > 4:
                yield node, index
    found = pick(dice, fitting())
    if found:
        name = net.own_copy(*found)
        net.put(name, numpy.roll(net.get(name), net.get(name).size // 2).copy())
        return [found[0]]


def integer_weight_negated(net, dice):
    found = pick(dice, ((node, name) for node, name in weights(net, False) if net.get(name).dtype == numpy.int8))
    if found:
        v = net.get(found[1]).copy()
        v[0] = -numpy.maximum(v[0], -127)
        net.put(found[1], v)
        return [found[0]]


def integer_bias_halved(net, dice):
    def biased():
        for node in net.nodes:
            index = {"QLinearConv": 8, "QGemm": 6, "Conv": 2, "Gemm": 2}.get(node.op_type)
            if index and len(node.input) > index:
                name = net.source(node.input[index])
                if name and net.get(name).dtype == numpy.int32 and numpy.any(net.get(name)):
                    yield node, name
    found = pick(dice, biased())
    if found:
        net.put(found[1], (net.get(found[1]) // 2).astype(numpy.int32))
        return [found[0]]


def output_scale(net, dice):
    """Of a QLinear operator's result alone."""
    made = ((node, OF_RESULTS[node.op_type]) for node in net.nodes if node.op_type in OF_RESULTS)
    found = pick(dice, ((node, place) for node, place in made if place < len(node.input) and node.input[place] in net.constants))
    if found:
        name = net.own_copy(*found)
        net.put(name, (net.get(name) * 1.3).astype(net.get(name).dtype))
        return [found[0]]


FAULTS = (
    Fault("operator replaced", op_replaced(OTHERS)),
    Fault("comparison replaced", op_replaced(OTHER_COMPARISONS)),
    Fault("Where exchanged", inputs_exchanged({"Where"}, 1, 2)),
    Fault("MatMul exchanged", inputs_exchanged({"MatMul", "FusedMatMul"}, 0, 1)),
    Fault("Concat reversed", concat_reversed),
    Fault("Split exchanged", split_exchanged),
    Fault("Gather index", gather_index),
    Fault("Slice moved", slice_moved),
    Fault("Clip max", clip_bound(2, lambda v: v * 0.5)),
    Fault("Clip min", clip_bound(1, lambda v: v + 0.05)),
    Fault("dilated", dilated),
    Fault("stride", stride_changed),
    Fault("groups exchanged", groups_exchanged),
    Fault("square transposed", square_transposed),
    Fault("kernel flipped", kernel_flipped(True)),
    Fault("integer kernel flipped", kernel_flipped(False)),
    Fault("channel zeroed", channel_zeroed(True)),
    Fault("integer channel zeroed", channel_zeroed(False)),
    Fault("weight to bf16", weights_to_bf16),
    Fault("one element", element_changed),
    Fault("one bias", bias_channel),
    Fault("rows exchanged", rows_exchanged),
    Fault("norm × 1.05", norm_operand(1.05)),
    Fault("axes moved", axes_moved),
    Fault("Resize mode", resize_changed),
    Fault("Pad mode", pad_changed),
    Fault("count_include_pad", flag_flipped("count_include_pad", {"AveragePool"}, 0)),
    Fault("ceil_mode", flag_flipped("ceil_mode", {"AveragePool", "MaxPool"}, 0)),
    Fault("gates exchanged", gates_exchanged),
    Fault("heads", heads_changed),
    Fault("node bypassed", node_bypassed),
    Fault("exponent", scalar_changed({"Pow"}, 1, lambda v: v * 1.1)),
    Fault("divisor", scalar_changed({"Div", "Mul"}, 1, lambda v: v * 1.02)),
    Fault("blocks exchanged", blocks_exchanged),
    Fault("block weights exchanged", block_weights_exchanged),
    Fault("block zero points", block_zero_points),
    Fault("QLinear operands", qlinear_operands),
    Fault("QLinearConcat scales", qlinear_concat),
    Fault("channel scales permuted", channel_scales_permuted),
    Fault("integer weight negated", integer_weight_negated),
    Fault("integer bias halved", integer_bias_halved),
    Fault("output scale", output_scale),
)
