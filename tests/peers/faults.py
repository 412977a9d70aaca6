"""Faults as people make them, planted into a file: one line for each kind at the end."""
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy
import onnx
from wiring import Net

HEAVY = {"Conv", "ConvTranspose", "Gemm", "MatMul", "FusedConv", "FusedGemm", "FusedMatMul", "LSTM", "GRU", "Attention", "QLinearConv", "QLinearMatMul", "QGemm",
         "ConvInteger", "MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
PLAIN_ACTIVATIONS = {"Relu", "Sigmoid", "Tanh", "Erf", "Clip", "HardSwish", "HardSigmoid", "LeakyRelu", "PRelu", "Gelu", "FastGelu", "QuickGelu", "Softmax"}
NORMS = {"BatchNormalization", "LayerNormalization", "SkipLayerNormalization", "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization",
         "EmbedLayerNormalization"}
# Inputs with the scales and zero points of quantizing operators.
SCALES = {"QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6), "QGemm": (1, 4), "QLinearAdd": (1, 4, 6), "QLinearMul": (1, 4, 6), "MatMulNBits": (2,),
          "MatMulBnb4": (2,), "MatMulIntegerToFloat": (2, 3), "DynamicQuantizeMatMul": (2,), "QLinearGlobalAveragePool": (1, 3), "QLinearSigmoid": (1, 3)}


def pick(dice, nodes):
    nodes = list(nodes)
    return dice.choice(nodes) if nodes else None


def weights(net: Net, floating=True):
    """Pairs of a heavy node and the constant upstream of its weight."""
    for node in net.nodes:
        if node.op_type in HEAVY or node.op_type in ("MatMulNBits", "MatMulBnb4"):
            for index in (0, 1, 3):
                name = net.source(node.input[index]) if index < len(node.input) else None
                if name and net.get(name).size > 8 and (net.get(name).dtype.kind == "f") == floating:
                    yield node, name
                    break


# --- weights and constants: each plants one fault and returns the nodes at fault, or nothing if no node fits ----------------------


def weight_times(factor, floating=True):
    def plant(net, dice):
        found = pick(dice, weights(net))
        if found:
            net.put(found[1], (net.get(found[1]) * factor).astype(net.get(found[1]).dtype))
            return [found[0]]

    return plant


def channel_permuted(floating):
    def plant(net, dice):
        found = pick(dice, ((node, name) for node, name in weights(net, floating) if net.get(name).shape[0] > 1))
        if found:
            value = net.get(found[1]).copy()
            value[[0, 1]] = value[[1, 0]]
            net.put(found[1], value)
            return [found[0]]

    return plant


def weights_exchanged(net, dice):
    by_shape = {}
    for node, name in weights(net):
        by_shape.setdefault(net.get(name).shape, {})[name] = node
    group = pick(dice, (group for group in by_shape.values() if len(group) > 1))
    if group:
        (a, first), (b, second) = dice.sample(sorted(group.items()), 2)
        one, other = net.get(a).copy(), net.get(b).copy()
        net.put(a, other), net.put(b, one)
        return [first, second]


def bias_dropped(net, dice):
    def biased():
        for node in net.nodes:
            index = {"QLinearConv": 8, "QGemm": 6}.get(node.op_type, 2)
            if node.op_type in ("Conv", "Gemm", "FusedConv", "ConvTranspose", "QLinearConv", "QGemm", "BiasGelu", "LayerNormalization") and len(node.input) > index:
                name = net.source(node.input[index])
                if name and numpy.any(net.get(name)):
                    yield node, name

    found = pick(dice, biased())
    if found:
        net.put(found[1], numpy.zeros_like(net.get(found[1])))
        return [found[0]]


def constant_times(factor):
    """A constant operand of Mul, Div or Add: a scale of attention, a shift."""

    def plant(net, dice):
        found = pick(dice, ((node, value) for node in net.nodes if node.op_type in ("Mul", "Div", "Add") for value in node.input
                            if value in net.constants and net.get(value).dtype.kind == "f" and numpy.any(net.get(value))))
        if found:
            name = net.own_copy(found[0], list(found[0].input).index(found[1]))
            net.put(name, (net.get(name) * factor).astype(net.get(name).dtype))
            return [found[0]]

    return plant


# --- operators --------------------------------------------------------------------------------------------------------------------


def activation_removed(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type in PLAIN_ACTIVATIONS))
    if node:
        near = [node, net.maker(node.input[0]), *net.readers(node.output[0])]
        names = net.region(*[one for one in near if one is not None])
        net.bypass(node)
        return names


def fused_activation_changed(net, dice):
    node = pick(dice, (node for node in net.nodes if net.attribute(node, "activation")))
    if node:
        one = net.attribute(node, "activation")
        one.s = b"Tanh" if one.s != b"Tanh" else b"Relu"
        for extra in [one for one in node.attribute if one.name in ("activation_params", "activation_alpha", "activation_beta")]:
            node.attribute.remove(extra)
        return [node]


def activation_replaced(net, dice):
    others = {"Relu": "Elu", "Sigmoid": "HardSigmoid", "Tanh": "Softsign", "Erf": "Tanh", "HardSwish": "Mish", "HardSigmoid": "Sigmoid", "LeakyRelu": "Relu"}
    node = pick(dice, (node for node in net.nodes if node.op_type in others))
    if node:
        node.op_type = others[node.op_type]
        del node.attribute[:]
        return [node]


def gelu_approximated(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type in ("Gelu", "BiasGelu")))
    if node:
        if node.domain == "":
            node.attribute.append(onnx.helper.make_attribute("approximate", "tanh"))
        else:
            node.op_type = "FastGelu"
        return [node]


def attribute_changed(name, types, change):
    def plant(net, dice):
        def fitting():
            for node in net.nodes:
                if node.op_type in types and net.attribute(node, name) is not None:
                    yield node

        node = pick(dice, fitting())
        if node:
            one = net.attribute(node, name)
            value = change(onnx.helper.get_attribute_value(one))
            if value is not None:
                node.attribute.remove(one)
                node.attribute.append(onnx.helper.make_attribute(name, value))
                return [node]

    return plant


def next_axis(axis):
    return axis + 1 if axis < -1 else axis - 1 if axis > 1 or axis == -1 else None


def moved_pads(pads):
    """As many on the whole, so that the size stays."""
    half = len(pads) // 2
    return [pads[0] + 1, *pads[1:half], pads[half] - 1, *pads[half + 1:]] if pads[half] > 0 else None


def other_perm(perm):
    return [*perm[:-2], perm[-1], perm[-2]]


def operand_dropped(net, dice):
    """Of a residual Add."""
    node = pick(dice, (node for node in net.nodes if node.op_type == "Add" and not any(net.source(value) for value in node.input)))
    if node:
        names = net.region(node, *net.readers(node.output[0]), *[net.maker(value) for value in node.input if net.maker(value)])
        net.bypass(node)
        return names


def operands_exchanged(net, dice):
    node = pick(dice, (node for node in net.nodes if node.op_type in ("Sub", "Div") and len(node.input) == 2))
    if node:
        node.input[0], node.input[1] = node.input[1], node.input[0]
        return [node]


# --- scales and zero points -------------------------------------------------------------------------------------------------------


def scaled(net, weight: bool):
    """Steps of weights, or of activations: the node, and where its scale stands."""
    for node in net.nodes:
        if node.op_type == "DequantizeLinear" and node.input[1] in net.constants and (net.source(node.input[0]) is not None) == weight:
            yield node, 1
        for index in SCALES.get(node.op_type, ()):
            if index < len(node.input) and node.input[index] in net.constants:
                if (node.op_type in ("MatMulNBits", "MatMulBnb4", "DynamicQuantizeMatMul") or (index in (3, 4) and node.op_type.startswith("Q"))) == weight:
                    yield node, index


def scale_times(factor, weight):
    def plant(net, dice):
        found = pick(dice, scaled(net, weight))
        if found:
            name = net.own_copy(*found)
            net.put(name, (net.get(name) * factor).astype(net.get(name).dtype))
            return [found[0]]

    return plant


def saturated(net, dice):
    """Both sides of a step get a quarter of the range."""
    node = pick(dice, (node for node in net.nodes if node.op_type == "QuantizeLinear" and node.input[1] in net.constants))
    if node:
        users = [node, *(one for one in net.readers(node.output[0]) if one.op_type == "DequantizeLinear")]
        for one in users:
            name = net.own_copy(one, 1)
            net.put(name, (net.get(name) / 4).astype(net.get(name).dtype))
        return users + [net.maker(node.input[0])] if net.maker(node.input[0]) else users


def zero_point_moved(steps):
    def plant(net, dice):
        def fitting():
            for node, index in [*scaled(net, True), *scaled(net, False)]:
                place = index + 1
                if node.op_type in ("DequantizeLinear", "QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul") and place < len(node.input):
                    if node.input[place] in net.constants and net.get(node.input[place]).dtype.kind in "iu" and net.get(node.input[place]).dtype.itemsize == 1:
                        yield node, place

        found = pick(dice, fitting())
        if found:
            name = net.own_copy(*found)
            value, kind = net.get(name).astype(int), numpy.iinfo(net.get(name).dtype)
            value = numpy.where(value + steps > kind.max, value - steps, value + steps)
            net.put(name, value.astype(net.get(name).dtype))
            return [found[0]]

    return plant


def scales_exchanged(net, dice):
    groups = {}
    for node, index in [*scaled(net, True), *scaled(net, False)]:
        groups.setdefault((node.op_type, index, net.get(node.input[index]).shape), []).append((node, index))
    group = pick(dice, (group for group in groups.values() if len(group) > 1))
    if group:
        (first, i), (second, j) = dice.sample(group, 2)
        a, b = net.own_copy(first, i), net.own_copy(second, j)
        one, other = net.get(a).copy(), net.get(b).copy()
        net.put(a, other), net.put(b, one)
        return [first, second]


def nibbles_swapped(net, dice):
    """Every pair of 4-bit weights in the other order."""
    node = pick(dice, (node for node in net.nodes if node.op_type == "MatMulNBits" and node.input[1] in net.constants
                       and onnx.helper.get_attribute_value(net.attribute(node, "bits")) == 4))
    if node:
        value = net.get(node.input[1])
        net.put(node.input[1], (value << 4) | (value >> 4))
        return [node]


@dataclass(frozen=True)
class Fault:
    name: str
    plant: Callable


FAULTS = (
    Fault("weight × 1.05", weight_times(1.05)),
    Fault("weight × 1.2", weight_times(1.2)),
    Fault("channels permuted", channel_permuted(True)),
    Fault("integer channels permuted", channel_permuted(False)),
    Fault("weights exchanged", weights_exchanged),
    Fault("bias dropped", bias_dropped),
    Fault("constant × 1.1", constant_times(1.1)),
    Fault("activation removed", activation_removed),
    Fault("activation replaced", activation_replaced),
    Fault("fused activation replaced", fused_activation_changed),
    Fault("Gelu approximated", gelu_approximated),
    Fault("epsilon 0.1", attribute_changed("epsilon", NORMS, lambda _: 0.1)),
    Fault("alpha × 1.1", attribute_changed("alpha", {"FusedMatMul", "Gemm", "LeakyRelu", "HardSigmoid", "FusedGemm"}, lambda alpha: alpha * 1.1)),
    Fault("axis moved", attribute_changed("axis", {"Softmax", "LogSoftmax", "Concat", "Gather"}, next_axis)),
    Fault("pads moved", attribute_changed("pads", {"Conv", "FusedConv", "MaxPool", "AveragePool", "QLinearConv"}, moved_pads)),
    Fault("perm changed", attribute_changed("perm", {"Transpose"}, other_perm)),
    Fault("residual dropped", operand_dropped),
    Fault("operands exchanged", operands_exchanged),
    Fault("weight's scale × 1.2", scale_times(1.2, True)),
    Fault("activation's scale × 1.2", scale_times(1.2, False)),
    Fault("saturating", saturated),
    Fault("zero point + 8", zero_point_moved(8)),
    Fault("scales exchanged", scales_exchanged),
    Fault("nibbles swapped", nibbles_swapped),
)


@dataclass
class Planted:
    fault: str
    net: Net
    names: set[str]  # any of them is the right name


def planted(file, fault: Fault, seed: str) -> Planted | None:
    """One fault at a place that the seed chooses."""
    net = Net(file)
    found = fault.plant(net, random.Random(seed))
    if not found:
        return None
    return Planted(fault.name, net, found if isinstance(found, set) else net.region(*found, *net.sharers()))
