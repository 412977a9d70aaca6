"""A model as a net of nodes: who makes a value, who reads it, and edits in place."""
import numpy
import onnx
from onnx import numpy_helper

# Operators that pass a value on without computing on it.
CARRIERS = {"QuantizeLinear", "DequantizeLinear", "Reshape", "Transpose", "Identity", "Cast", "Flatten", "Squeeze", "Unsqueeze", "DynamicQuantizeLinear"}
# Operators that end a region begun by a heavy node, as optimizers fuse it.
FOLLOWERS = CARRIERS | {"Add", "Mul", "Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "LeakyRelu", "PRelu", "Elu", "Gelu", "FastGelu", "QuickGelu",
                        "BatchNormalization", "BiasGelu", "QLinearSigmoid", "QLinearLeakyRelu"}


class Net:
    def __init__(self, file):
        self.model = onnx.load(file)
        self.graph = self.model.graph
        self.constants, self.changed = {tensor.name: tensor for tensor in self.graph.initializer}, set()
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self.constants[node.output[0]] = node.attribute[0].t

    @property
    def nodes(self):
        return self.graph.node

    def maker(self, value):
        return next((node for node in self.nodes if value in node.output), None)

    def readers(self, value):
        return [node for node in self.nodes if value in node.input]

    def source(self, value):
        """The constant upstream of carriers, or None."""
        while value not in self.constants:
            node = self.maker(value)
            if node is None or node.op_type not in CARRIERS:
                return None
            value = node.input[0]
        return value

    def get(self, name):
        return numpy_helper.to_array(self.constants[name])

    def put(self, name, value):
        tensor = numpy_helper.from_array(numpy.ascontiguousarray(value), name)
        tensor.data_type = self.constants[name].data_type
        self.constants[name].CopyFrom(tensor)
        self.changed.add(name)

    def sharers(self):
        """All nodes that read a constant that has been changed."""
        return [node for node in self.nodes if any(self.source(value) in self.changed for value in node.input if value)]

    def own_copy(self, node, index):
        """Lets a node read a copy of a constant that others may read too; its name."""
        name = node.input[index]
        if len(self.readers(name)) + sum(list(reader.input).count(name) for reader in self.readers(name)) <= 2:
            return name
        copy = self.graph.initializer.add()
        copy.CopyFrom(self.constants[name])
        copy.name = f"{name}/of/{node.output[0]}"
        self.constants[copy.name] = copy
        node.input[index] = copy.name
        return copy.name

    def bypass(self, node):
        """Its readers read what it read."""
        outputs = {output.name for output in self.graph.output}
        if node.output[0] in outputs:
            node.op_type, node.domain = "Identity", ""
            del node.input[1:], node.attribute[:]
            return
        for reader in self.readers(node.output[0]):
            for i, value in enumerate(reader.input):
                if value == node.output[0]:
                    reader.input[i] = node.input[0]
        self.nodes.remove(node)

    def attribute(self, node, name):
        return next((one for one in node.attribute if one.name == name), None)

    def region(self, *nodes) -> set[str]:
        """Names and values of nodes, and of what stands so close that it may stand for them: what makes their constants and operands out of constants
        or by carrying, and followers down to the next node of another kind."""
        found, new = [], list(nodes)
        while new:
            node = new.pop()
            if node is None or node in found:
                continue
            found.append(node)
            if node.op_type in FOLLOWERS or node in nodes:
                below = [reader for value in node.output for reader in self.readers(value)]
                new += [one for one in below if one.op_type in FOLLOWERS or node.op_type in CARRIERS]
            new += [maker for value in node.input if (maker := self.maker(value)) is not None and maker.op_type in CARRIERS and self.source(value)]
        return {name for node in found for name in (node.name, *node.output) if name}
