"""A model that is rewritten or harmed: the net of peers, with what each value held when ONNX Runtime ran it, and nodes put in place of others."""

import io
import pathlib
import sys

import drafts
import numpy
import onnx
import oracles
from onnx import helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from wiring import Net  # noqa: E402


def every_node(nodes):
    """With those of graphs within."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                yield from every_node(graph.node)


class Work(Net):
    """`feeds`: at least two, of other sizes."""

    def __init__(self, model: onnx.ModelProto, feeds: list[dict], dice):
        super().__init__(io.BytesIO(model.SerializeToString()))
        self.feeds, self.dice, self.facts, self.pending, self.count = feeds, dice, {}, [], 0
        self.opset = next(one.version for one in model.opset_import if one.domain == "")
        for one in self.graph.input:  # what callers may replace is no constant
            self.constants.pop(one.name, None)
        self.outputs = {output.name for output in self.graph.output}
        inside = [*every_node(self.nodes), *(node for function in model.functions for node in function.node)]
        self.taken = {name for node in inside for name in (node.name, *node.input, *node.output)} | {tensor.name for tensor in self.graph.initializer}
        self.taken |= {function.name for function in model.functions} | {one.name for one in self.graph.input}

    def learn(self):
        """Runs the model with every value as an output."""
        names = [name for node in self.nodes for name in node.output if name and name not in self.outputs]
        full = onnx.ModelProto()
        full.CopyFrom(self.model)
        full.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        found = oracles.answers(full, self.feeds)
        order = [output.name for output in self.graph.output] + names
        self.facts = {name: [results[i] for results in found] for i, name in enumerate(order)}
        self.facts |= {name: [feed[name] for feed in self.feeds] for name in self.feeds[0]}
        return self

    # --- what is known ---------------------------------------------------------------------------------------------------------

    def arrays(self, name):
        """Nothing for what is no tensor."""
        if name in self.constants:
            return [self.get(name)] * len(self.feeds)
        arrays = self.facts.get(name)
        return arrays if arrays and all(isinstance(array, numpy.ndarray) for array in arrays) else None

    def dtype(self, name):
        arrays = self.arrays(name)
        return arrays[0].dtype if arrays else None

    def is_float(self, name) -> bool:
        return self.dtype(name) == numpy.float32

    def rank(self, name) -> int:
        arrays = self.arrays(name)
        return arrays[0].ndim if arrays and all(array.ndim == arrays[0].ndim for array in arrays) else -1

    def dims(self, name) -> list:
        """Nothing for a dim that differs between the feeds: only the model's inputs say which are free."""
        arrays = self.arrays(name)
        return [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*(array.shape for array in arrays))] if arrays else []

    def constant(self, name):
        return self.get(name) if name in self.constants else None

    def scalar(self, name):
        """The number of a constant of one element."""
        value = self.constant(name)
        return value.reshape(-1)[0] if value is not None and value.size == 1 else None

    def value(self, node, name, default=None):
        one = self.attribute(node, name)
        return default if one is None else helper.get_attribute_value(one)

    def axis(self, node, default=-1) -> int:
        axis, rank = self.value(node, "axis", default), self.rank(node.input[0])
        return axis + rank if axis < 0 else axis

    # --- where --------------------------------------------------------------------------------------------------------------------

    def node(self, kinds, test=lambda node: True):
        """One of the kinds, of the standard's domain; the dice choose. None: there is none."""
        kinds = kinds.split()
        found = [node for node in self.nodes if node.op_type in kinds and node.domain == "" and test(node)]
        return self.dice.choice(found) if found else None

    def edge(self, test=lambda name: True):
        """A value that is no constant, and one node that reads it at a place: (name, node, place)."""
        found = [
            (name, node, place)
            for node in self.nodes
            for place, name in enumerate(node.input)
            if name and name in self.facts and name not in self.constants and self.arrays(name) and test(name)
        ]
        return self.dice.choice(found) if found else None

    # --- edits: nodes are made first, and then put somewhere ------------------------------------------------------------------------

    def name(self, stem="r") -> str:
        while True:
            self.count += 1
            if f"{stem}{self.count}" not in self.taken:
                self.taken.add(f"{stem}{self.count}")
                return f"{stem}{self.count}"

    def op(self, kind, *inputs, outs=1, domain="", **attributes):
        names = [self.name() for _ in range(outs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.pending.append(helper.make_node(kind, [name or "" for name in inputs], names, name=self.name(kind.lower() + "/"), domain=domain, **attributes))
        return names[0] if outs == 1 else names

    def same(self, node, *inputs, outs=None):
        """A node of the same kind with the same attributes."""
        names = [self.name() for _ in range(outs or len(node.output))]
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = self.name(node.op_type.lower() + "/")
        del copy.input[:], copy.output[:]
        copy.input.extend(name or "" for name in inputs), copy.output.extend(names)
        self.pending.append(copy)
        return names[0] if len(names) == 1 else names

    def c(self, value, dtype=numpy.float32) -> str:
        tensor = numpy_helper.from_array(numpy.asarray(value).astype(dtype), self.name("k"))
        self.graph.initializer.add().CopyFrom(tensor)
        self.constants[tensor.name] = self.graph.initializer[-1]
        return tensor.name

    def ints(self, *values) -> str:
        return self.c(numpy.array(values), numpy.int64)

    def reduce(self, kind, x, axes, keepdims=1):
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.op(kind, x, self.ints(*axes), keepdims=keepdims)
        return self.op(kind, x, axes=list(axes), keepdims=keepdims)

    def squeeze(self, x, *axes):
        return self.op("Squeeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Squeeze", x, axes=list(axes))

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Unsqueeze", x, axes=list(axes))

    def split(self, x, sizes, axis):
        if self.opset >= 13:
            return self.op("Split", x, self.ints(*sizes), outs=len(sizes), axis=axis)
        return self.op("Split", x, outs=len(sizes), axis=axis, split=list(sizes))

    def place(self, index: int):
        nodes = list(self.nodes)
        del self.nodes[:]
        self.nodes.extend([*nodes[:index], *self.pending, *nodes[index:]])
        self.pending = []

    def instead(self, node, *results) -> bool:
        """What was made makes the node's results now."""
        for result, name in zip(results, node.output):
            maker = next((one for one in self.pending if result in one.output), None)
            if maker is None or [one for one in results].count(result) > 1:
                self.op("Identity", result)
                maker, result = self.pending[-1], self.pending[-1].output[0]
            for one in self.pending:
                for place, read in enumerate(one.input):
                    if read == result:
                        one.input[place] = name
            maker.output[list(maker.output).index(result)] = name
        index = list(self.nodes).index(node)
        del self.nodes[index]
        self.place(index)
        return True

    def between(self, edge, result) -> bool:
        """The node at the end of the edge reads the result of what was made."""
        _, node, place = edge
        index = list(self.nodes).index(node)
        node.input[place] = result
        self.place(index)
        return True

    def finished(self) -> onnx.ModelProto:
        """Without constants that nothing reads, since other constants stand for them."""
        used = drafts.free_names(self.nodes) | self.outputs | {one.name for one in self.graph.input}
        for tensor in [tensor for tensor in self.graph.initializer if tensor.name not in used]:
            self.graph.initializer.remove(tensor)
        return self.model
