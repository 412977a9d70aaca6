"""Losses of coarser numbers, of whole models and node by node, held against ONNX Runtime on the same inputs."""
import pathlib
from dataclasses import asdict, dataclass, field

import numpy
import onnx
import truth
from judge import Judge
from reals import in_reals
from verdicts import measured
from wiring import Net
from ways import Case, Way, against, way

LARGEST = 100.0  # dB: a larger ratio counts as no loss
MODELS = ("unet", "detector", "segmenter", "resnet10", "encoder", "bert", "gpt2", "t5")
COARSE = ("fp16, ORT transformers", "int8 dynamic", "QDQ u8s8 per tensor", "QDQ u8s8 per channel", "QOperator u8s8", "int4 blocks of 32", "int4 blocks of 32, QDQ")
SAMPLES = 64
NODE_SAMPLES = 2  # the first, on which relayout measures node by node


@dataclass
class Row:
    model: str
    way: str
    snr: float  # by ONNX Runtime, of the outputs
    measured: float | None  # by relayout
    nodes: list = field(default_factory=list)
    cpu: float = 0.0
    verdict: str = ""
    command: str = ""


class Values:
    """All values of a model, by ONNX Runtime, sample by sample."""

    def __init__(self, file: pathlib.Path, feeds):
        model = onnx.load(file)
        typed = {info.name for info in model.graph.output}
        for node in model.graph.node:
            model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name and name not in typed)
        runner = truth.session(model.SerializeToString())
        self.names, self.net = [place.name for place in runner.get_outputs()], Net(file)
        self.samples = [{**feed, **dict(zip(self.names, runner.run(None, feed)))} for feed in feeds]

    def of(self, name: str):
        return [sample[name] for sample in self.samples]

    def reals(self):
        """Names of the real numbers that the model makes, and of its inputs: integers follow from those in each file, as places in a table do."""
        sample = self.samples[0]
        return {name for name, value in sample.items() if name not in self.names or numpy.asarray(value).dtype.kind == "f"}

    def clipped(self, name: str, other: Net) -> str:
        """The result of a Relu or Clip that reads the value, where a quantizer of the other model does what it did."""
        readers = self.net.readers(name)
        absorbed = len(readers) == 1 and readers[0].op_type in ("Relu", "Clip") and other.maker(readers[0].output[0]) is None
        return readers[0].output[0] if absorbed else name


IN_ORDER = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")  # operators that change dims, not the order of elements
QUANTIZED = "_quantized"  # suffix of ONNX Runtime's quantizer for names of integers
FED = "/fed"  # the original's value, where integers are computed from it


class OpenBlocks:
    """Weights of 4 bits in blocks as they were if the grid had no ends: the original's, rounded to whole steps. By design the ends cut off some."""

    def __init__(self, original: Net, product: onnx.NodeProto, coarse: Net):
        self.weight, self.coarse = original.get(product.input[1]), coarse

    def of(self, scales) -> numpy.ndarray:
        """`scales`: of [blocks, columns]."""
        block = -(-self.weight.shape[0] // scales.shape[0])
        steps = numpy.repeat(scales, block, axis=0)[:self.weight.shape[0]]
        return numpy.rint(self.weight / steps) * steps

    def replacement(self, node: onnx.NodeProto):
        """A product or a constant in real numbers in place of a node, and its constant; the node itself where it reads no blocks."""
        if node.op_type == "MatMulNBits":
            columns = next(one.i for one in node.attribute if one.name == "N")
            name, made = node.output[0] + "/open", self.of(self.coarse.get(node.input[2]).reshape(columns, -1).T)
            return onnx.helper.make_node("MatMul", [node.input[0], name], [node.output[0]]), onnx.numpy_helper.from_array(made, name)
        if node.op_type == "DequantizeLinear" and node.input[0] in self.coarse.constants and any(one.name == "block_size" for one in node.attribute):
            name, made = node.output[0] + "/open", self.of(self.coarse.get(node.input[1]))
            return onnx.helper.make_node("Identity", [name], [node.output[0]]), onnx.numpy_helper.from_array(made, name)
        return node, None


class Part:
    """The nodes of a model that make one value out of the original's, with the quantizers of their operands and their own."""

    def __init__(self, net: Net, own: str, last: str, known):
        self.net, self.known, self.own, self.nodes, self.inputs, self.made = net, known, {own, own + QUANTIZED, last}, [], [], []
        restored, at = net.maker(own), last
        if restored is not None and restored.op_type == "DequantizeLinear":
            self.own.add(restored.input[0])
        while at != own and (maker := net.maker(at)) is not None and maker.op_type in ("QuantizeLinear", "DequantizeLinear", *IN_ORDER):
            at = maker.input[0]
            self.own.add(at)
        self.seen, new = set(), [last]
        while new:
            new += self.upstream(new.pop())
        if net.maker(last).op_type == "QuantizeLinear" or last.endswith(QUANTIZED):
            last = self.beside(last, net.readers(last), "DequantizeLinear", last, last + "/floating")
        self.last = last

    def upstream(self, value: str) -> list[str]:
        """What a value is made of, where that belongs to the part."""
        if value in self.seen or value in self.net.constants or not value:
            return []
        self.seen.add(value)
        maker = self.net.maker(value)
        is_integer = value.endswith(QUANTIZED) and maker is not None and maker.op_type not in ("QuantizeLinear", "DynamicQuantizeLinear")
        if is_integer and value not in self.own and value.removesuffix(QUANTIZED) in self.known:
            self.inputs.append(value.removesuffix(QUANTIZED) + FED)
            self.beside(value, self.nodes, "QuantizeLinear", self.inputs[-1], value)
            return []
        is_restored = self.is_restored(maker)
        if maker is None or (value not in self.own and value in self.known and not is_restored):
            self.inputs.append(value)
            return []
        self.nodes.append(maker)
        return list(maker.input)

    def is_restored(self, maker) -> bool:
        """Whether a node makes real numbers of integers, or gives such numbers other dims: they are on the grid of those integers."""
        while maker is not None and maker.op_type in IN_ORDER:
            maker = self.net.maker(maker.input[0])
        return maker is not None and maker.op_type == "DequantizeLinear"

    def beside(self, value: str, readers, op_type: str, source: str, target: str) -> str:
        """A quantizer with the scale that a reader of the integers names beside them."""
        reader = next(node for node in readers if value in node.input and (node.op_type.startswith("Q") or node.op_type == "DequantizeLinear"))
        index = list(reader.input).index(value)
        self.made.append(onnx.helper.make_node(op_type, [source, *reader.input[index + 1:index + 3]], [target]))
        return target

    def model(self, types, blocks: OpenBlocks | None = None) -> bytes:
        """`types`: those of the values that it begins with."""
        net, quantizers = self.net, [node for node in self.made if node.op_type == "QuantizeLinear"]
        own, opened = [node for node in net.nodes if node in self.nodes], []
        if blocks is not None:
            own, opened = zip(*(blocks.replacement(node) for node in own))
        nodes = quantizers + list(own) + [node for node in self.made if node not in quantizers]
        constants = [tensor for tensor in opened if tensor is not None] + [tensor for tensor in net.graph.initializer if any(tensor.name in node.input for node in nodes)]
        typed = {info.name: info for info in net.graph.input}
        places = [typed.get(name) or onnx.helper.make_tensor_value_info(name, types(name), None) for name in dict.fromkeys(self.inputs)]
        graph = onnx.helper.make_graph(nodes, "part", places, [onnx.ValueInfoProto(name=self.last)], constants)
        made = onnx.helper.make_model(graph, opset_imports=net.model.opset_import, ir_version=net.model.ir_version)
        return made.SerializeToString()


def after_quantizer(net: Net, value: str) -> str:
    """Where the node's own quantizer has ended, which may see the elements in other dims."""
    readers = net.readers(value)
    if len(readers) == 1 and readers[0].op_type in IN_ORDER and [one.op_type for one in net.readers(readers[0].output[0])] == ["QuantizeLinear"]:
        value = readers[0].output[0]
        readers = net.readers(value)
    if len(readers) == 1 and readers[0].op_type == "QuantizeLinear":
        value = readers[0].output[0]
        readers = net.readers(value)
        if readers and readers[0].op_type == "DequantizeLinear":
            return readers[0].output[0]
    return value


def alone(net: Net, values: Values, loss: dict, references: dict[str, str], opened=False) -> float:
    """What one node loses that is fed the original's values. `opened`: without the ends of weights of 4 bits."""

    def reference(name):
        name = name.removesuffix(FED)
        return references.get(name) or values.clipped(name.removesuffix(QUANTIZED), net)

    def type_of(name):
        return onnx.helper.np_dtype_to_tensor_dtype(values.samples[0][reference(name)].dtype)

    reals = values.reals()
    known = {*reals, *(name for name, other in references.items() if other in reals)}
    part = Part(net, loss["tensor"], after_quantizer(net, loss["tensor"]), known)
    product = values.net.maker(reference(loss["tensor"]))
    alone = part.model(type_of, OpenBlocks(values.net, product, net) if opened else None)
    runner = truth.session(in_reals(alone) or alone)
    if not runner.get_inputs():
        raise ValueError("it reads constants only")
    right = [[value] for value in values.of(reference(loss["tensor"]))]
    found = [runner.run(None, {place.name: sample[reference(place.name)] for place in runner.get_inputs()}) for sample in values.samples]
    found = [[value.reshape(true.shape) if value.size == true.size else value] for [value], [true] in zip(found, right)]
    return min(truth.distance(right, found).snr, LARGEST)


def row(judge: Judge, case: Case, of: Way, feeds) -> Row:
    a, b = case.file(against(of)), case.file(of.name)
    words = [*of.words, *truth.save(feeds, case.folder / "inputs64"), f"--samples={len(feeds)}"]
    verdict = judge.verify(a, b, *words)
    coarse = truth.rounded(b) if of.kind == "fp16" else b
    right = truth.distance(truth.answers(a, feeds), truth.answers(coarse, feeds)).snr
    out = Row(case.what.name, of.name, right, measured(verdict), [], verdict.cpu, verdict.word, judge.command(a, b, *words))
    references = {layer["tensor"]: layer["reference"] for layer in verdict.report.get("layers", [])}
    losses = verdict.report.get("losses", [])
    net, values = (Net(b), Values(a, feeds[:NODE_SAMPLES])) if losses else (None, None)
    for loss in losses:
        try:
            found = alone(net, values, loss, references)
        except Exception as error:  # a part that cannot run alone
            out.nodes.append({**loss, "why": repr(error)[:200]})
            continue
        expected = alone(net, values, loss, references, opened=True) if of.name.startswith("int4") else found
        out.nodes.append({**loss, "truth": found, "expected_truth": expected})
    return out


def lost(judge: Judge, case: Case, names) -> list[dict]:
    feeds = truth.samples(case.what.inputs, SAMPLES, seed=31)
    return [asdict(row(judge, case, way(name), feeds)) for name in names if case.file(name).exists()]
