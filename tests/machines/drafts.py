"""A model while it is being made: every node is run at once by ONNX Runtime, so that what stands is valid and its numbers are known."""

import contextlib
from dataclasses import dataclass

import numpy
import onnx
import oracles
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, INT64, INT32, BOOL, INT8, UINT8 = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.BOOL,
    TensorProto.INT8,
    TensorProto.UINT8,
)
LARGEST = 2e9  # of a number of a model, with inputs near one: masks have such
MOST_ELEMENTS = 20000
# Free dims, and the two sizes at which every model is made.
SIZES = {"N": (2, 3), "S": (4, 6), "T": (8, 5), "H": (8, 12), "W": (8, 10)}


class Unfit(Exception):
    """An idiom that does not fit the model as it is: nothing of it stays."""


@dataclass
class Input:
    """`high`: integers are in [0, high)."""

    name: str
    dtype: type
    dims: tuple
    high: int = 0

    def draw(self, random, sizes: dict, scale=1.0):
        dims = [sizes[dim] if isinstance(dim, str) else dim for dim in self.dims]
        if self.dtype == numpy.bool_:
            return random.random(dims) < 0.5
        if self.high:
            return random.integers(0, self.high, dims).astype(self.dtype)
        return (random.standard_normal(dims) * scale).astype(self.dtype)


def free_names(nodes) -> set[str]:
    """What nodes and their graphs read and do not make."""
    made, read = set(), set()
    for node in nodes:
        read.update(name for name in node.input if name and name not in made)
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
                inner = free_names(graph.node) | {value.name for value in graph.output} - {name for inside in graph.node for name in inside.output}
                read.update(name for name in inner - own if name not in made)
        made.update(node.output)
    return read


class Draft:
    def __init__(self, dice, opset: int):
        self.dice, self.opset, self.random = dice, opset, numpy.random.default_rng(dice.getrandbits(32))
        self.inputs, self.nodes, self.constants, self.functions, self.domains = [], [], {}, [], {"": opset}
        self.values = {}  # of each value that other nodes may read: its arrays, one for each choice of sizes
        self.count, self.new, self.nested = 0, [], 0

    # --- parts ---------------------------------------------------------------------------------------------------------------

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def op(self, kind: str, *inputs, outs=1, domain="", **attributes):
        """Its result, or its results."""
        names = [self.name("v") for _ in range(outs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.new.append(helper.make_node(kind, [name or "" for name in inputs], names, name=self.name(kind.lower()), domain=domain, **attributes))
        if domain:
            self.domains.setdefault(domain, 1)
        return names[0] if outs == 1 else names

    def c(self, value, dtype=numpy.float32) -> str:
        """A constant: an initializer, or sometimes the result of a node."""
        tensor = numpy_helper.from_array(numpy.ascontiguousarray(numpy.asarray(value).astype(dtype)).reshape(numpy.asarray(value).shape), self.name("c"))
        if self.nested or self.dice.random() < 0.1:
            self.new.append(helper.make_node("Constant", [], [tensor.name], name=self.name("constant"), value=tensor))
            return tensor.name
        self.constants[tensor.name] = tensor
        return tensor.name

    def ints(self, *values) -> str:
        return self.c(numpy.array(values), numpy.int64)

    def normal(self, *dims, scale=1.0, shift=0.0) -> str:
        return self.c(self.random.standard_normal(dims) * scale + shift)

    def positive(self, *dims) -> str:
        return self.c(self.random.random(dims) + 0.5)

    def input(self, dtype, dims, high=0) -> str:
        one = Input(self.name("x"), dtype, tuple(dims), high)
        self.inputs.append(one)
        self.values[one.name] = [one.draw(self.random, {name: sizes[i] for name, sizes in SIZES.items()}) for i in range(2)]
        return one.name

    # --- what there is ---------------------------------------------------------------------------------------------------------

    def arrays(self, name) -> list:
        if name not in self.values:
            self.values |= self.results()  # so far
        if name not in self.values:
            raise Unfit(f"{name} is in a graph")
        return self.values[name]

    def dims(self, name) -> tuple:
        """Nothing for a dim that is free."""
        a, b = self.arrays(name)
        return tuple(m if m == n else None for m, n in zip(a.shape, b.shape))

    def rank(self, name) -> int:
        return self.arrays(name)[0].ndim

    def fixed(self, name, axis) -> int:
        size = self.dims(name)[axis]
        if size is None:
            raise Unfit(f"dim {axis} is free")
        return size

    def find(self, dtype=numpy.float32, test=lambda arrays: True):
        """A value that other nodes may read, late ones more often; None if there is none."""
        names = [name for name, arrays in self.values.items() if arrays[0].dtype == dtype and arrays[0].size and test(arrays)]
        if not names or (len(self.inputs) < 3 and self.dice.random() < 0.15):
            return None
        return names[max(self.dice.randrange(len(names)), self.dice.randrange(len(names)))]

    def image(self, channels=None, spatial=2) -> str:
        found = self.find(
            test=lambda a: a[0].ndim == spatial + 2
            and a[0].shape[1] <= 16
            and a[0].shape[1] == a[1].shape[1]
            and min(a[0].shape[2:] + a[1].shape[2:]) >= 3
            and channels in (None, a[0].shape[1])
        )
        sizes = (
            self.dice.choice([(8, 8), ("H", "W"), (7, 9), ("H", 8), (3, 9)])
            if spatial == 2
            else ((9,), ("S",))[self.dice.randrange(2)] if spatial == 1 else (4, 5, 6)
        )
        return found or self.input(numpy.float32, (self.dice.choice([1, "N", 2]), channels or self.dice.choice([1, 2, 3, 4, 8]), *sizes))

    def rows(self, width=None) -> str:
        """Rank 2 or 3 with a fixed last dim."""
        found = self.find(
            test=lambda a: a[0].ndim in (2, 3) and a[0].shape[-1] == a[1].shape[-1] and 1 < a[0].shape[-1] <= 64 and width in (None, a[0].shape[-1])
        )
        dims = self.dice.choice([("N", 4), ("N", 8), (2, 4), ("N", "S", 8), (2, "S", 6), ("N", 16), ("S", "T", 4)])
        return found or self.input(numpy.float32, (*dims[:-1], width or dims[-1]))

    def any(self) -> str:
        return self.find(test=lambda a: a[0].ndim) or (self.rows() if self.dice.random() < 0.6 else self.image())

    def ids(self, high=16) -> str:
        found = (
            self.find(numpy.int64, lambda a: a[0].ndim >= 1 and a[0].min() >= 0 and max(a[0].max(), a[1].max()) < high) if self.dice.random() < 0.3 else None
        )
        return found or self.input(numpy.int64, self.dice.choice([("N", "S"), ("N", 4), (2, 6), ("S",)]), high)

    # --- operators whose spelling depends on the opset ---------------------------------------------------------------------------

    def reduce(self, kind, x, axes, keepdims=1) -> str:
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.op(kind, x, self.ints(*axes), keepdims=keepdims)
        return self.op(kind, x, axes=list(axes), keepdims=keepdims)

    def squeeze(self, x, *axes) -> str:
        return self.op("Squeeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Squeeze", x, axes=list(axes))

    def unsqueeze(self, x, *axes) -> str:
        return self.op("Unsqueeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Unsqueeze", x, axes=list(axes))

    def split(self, x, sizes, axis) -> list[str]:
        if self.opset >= 13:
            return self.op("Split", x, self.ints(*sizes), outs=len(sizes), axis=axis)
        return self.op("Split", x, outs=len(sizes), axis=axis, split=list(sizes))

    # --- graphs and functions --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def inside(self):
        """Nodes that are made within belong to the list that this gives."""
        outer, self.new = self.new, []
        self.nested += 1
        try:
            yield self.new
        finally:
            self.new = outer
            self.nested -= 1

    def graph(self, make, inputs=()) -> onnx.GraphProto:
        """`make()` gives (name, type) of its results; inputs are (name, type, dims)."""
        with self.inside() as nodes:
            results = make()
        return helper.make_graph(
            nodes,
            self.name("graph"),
            [helper.make_tensor_value_info(*one) for one in inputs],
            [helper.make_tensor_value_info(name, kind, None) for name, kind in results],
        )

    def function(self, inputs: int, make, attributes=()) -> str:
        """The name of a function of this model, whose domain is "local"; `make(*names)` gives its result."""
        name, formals = self.name("Function"), [self.name("f") for _ in range(inputs)]
        with self.inside() as nodes:
            result = make(*formals)
        self.functions.append(helper.make_function("local", name, formals, [result], nodes, [helper.make_opsetid("", self.opset)], list(attributes)))
        self.domains["local"] = 1
        return name

    # --- one idiom after another -------------------------------------------------------------------------------------------------

    def attempt(self, idiom) -> bool:
        """Runs what the idiom adds; nothing of it stays if it does not run, or if its numbers are too large."""
        before = (len(self.inputs), dict(self.constants), len(self.functions), dict(self.values), dict(self.domains))
        self.new = []
        try:
            idiom(self)
            self.values |= self.results()
        except (Unfit, oracles.Refused):
            del self.inputs[before[0] :], self.functions[before[2] :]
            self.constants, self.values, self.domains = before[1], before[3], before[4]
            return False
        self.nodes += self.new
        return True

    def results(self) -> dict:
        outs = [name for node in self.new for name in node.output if name]
        read = sorted(name for name in free_names(self.new) if name in self.values)
        tensors = [self.constants[name] for name in free_names(self.new) if name in self.constants]
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.values[name][0].dtype), [None] * self.rank(name)) for name in read]
        runner = oracles.session(self.wrap(self.new, infos, [onnx.ValueInfoProto(name=name) for name in outs], tensors))
        found = [oracles.run(runner, {name: self.values[name][i] for name in read}) for i in range(2)]
        kept = {name: [found[0][k], found[1][k]] for k, name in enumerate(outs) if isinstance(found[0][k], numpy.ndarray)}
        for name, arrays in kept.items():
            for array in arrays:
                if (
                    array.size > MOST_ELEMENTS
                    or array.dtype.kind == "f"
                    and (not numpy.isfinite(array).all() or numpy.abs(array.astype(numpy.float64)).max(initial=0) > LARGEST)
                ):
                    raise Unfit(f"{name} has too many or too large numbers")
            if arrays[0].ndim != arrays[1].ndim:
                raise Unfit(f"{name} has no rank")
        constants = {name for node in self.new if node.op_type == "Constant" for name in node.output}
        return {name: arrays for name, arrays in kept.items() if name not in constants}

    def wrap(self, nodes, inputs, outputs, tensors, name="made") -> onnx.ModelProto:
        graph = helper.make_graph(nodes, name, inputs, outputs, tensors)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        return helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=8 if self.opset < 19 else 10)

    def outputs(self) -> list[str]:
        """What nothing reads, and sometimes one value more."""
        read = free_names(self.nodes) | {name for node in self.nodes for name in node.input}
        ends = [name for node in self.nodes for name in node.output if name in self.values and name not in read]
        others = [name for name in self.values if name not in ends and not any(one.name == name for one in self.inputs)]
        if others and self.dice.random() < 0.3:
            ends.append(self.dice.choice(others))
        return ends if len(ends) <= 5 else ends[-5:]

    def model(self) -> onnx.ModelProto:
        def info(name, declared=True):
            kind = helper.np_dtype_to_tensor_dtype(self.values[name][0].dtype)
            return helper.make_tensor_value_info(name, kind, self.dims(name) if declared else [None] * self.rank(name))

        declared = self.dice.random() < 0.7
        inputs = [helper.make_tensor_value_info(one.name, helper.np_dtype_to_tensor_dtype(numpy.dtype(one.dtype)), one.dims) for one in self.inputs]
        nodes = list(self.nodes)
        used = free_names(nodes)
        model = self.wrap(nodes, inputs, [info(name, declared) for name in self.outputs()], [tensor for name, tensor in self.constants.items() if name in used])
        self.vary(model)
        is_inferred = self.dice.random() < 0.2 and not model.graph.sparse_initializer  # whose dims the inference takes wrong
        return onnx.shape_inference.infer_shapes(model) if is_inferred else model

    def vary(self, model):
        """Constants stored otherwise: as typed data, sparse, or as inputs that callers may leave out."""
        floats = [tensor for tensor in model.graph.initializer if tensor.data_type == FLOAT and len(tensor.dims) >= 1]
        if not floats or self.dice.random() < 0.8:
            return
        tensor, how = self.dice.choice(floats), self.dice.randrange(3)
        value = numpy_helper.to_array(tensor)
        if how == 0:
            tensor.CopyFrom(helper.make_tensor(tensor.name, FLOAT, value.shape, value.reshape(-1)))
        elif how == 1 and not self.functions:
            value = numpy.where(self.random.random(value.shape) < 0.5, value, 0).astype(numpy.float32)
            places = numpy.flatnonzero(value)
            if places.size:
                values = numpy_helper.from_array(value.reshape(-1)[places], tensor.name)
                model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, numpy_helper.from_array(places.astype(numpy.int64)), value.shape))
                model.graph.initializer.remove(tensor)
        elif how == 2:
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, FLOAT, value.shape))
