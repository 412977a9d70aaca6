"""What other tools make of a model: one line for each way."""
import functools
import pathlib
from collections.abc import Callable
from dataclasses import dataclass, field

import onnx
import truth
from models import FREE, Architecture, dims_of
from onnxruntime import GraphOptimizationLevel as Level


class NotMade(Exception):
    """A tool does not make this of this model: not a fault of anyone's."""


@dataclass
class Case:
    """One architecture with its files."""

    what: Architecture
    folder: pathlib.Path
    feeds: list = field(default_factory=list)

    def file(self, way: str) -> pathlib.Path:
        return self.folder / (way.replace(" ", "_").replace("/", "-").replace(",", "") + ".onnx")


@dataclass(frozen=True)
class Way:
    """`kind`: kept (the arithmetic is kept), fp16, lossy (8 bits and fewer), steps (of a lossy file: roundings may fall otherwise, but nothing is lost
    besides), halves (the same of a file of 16 bits). `base`: the way it begins with and is judged against. `words`: what a user who means it says to verify."""

    name: str
    kind: str
    make: Callable | str  # if only PyTorch can make it, the method of Exporter
    base: str = "original"
    words: tuple = ()


def save(model: onnx.ModelProto, out: pathlib.Path):
    onnx.save(model, str(out))


def edit(change: Callable[[onnx.ModelProto], onnx.ModelProto]):
    """A way that takes and gives a model in memory."""

    def make(case: Case, source: pathlib.Path, out: pathlib.Path):
        save(change(onnx.load(source)), out)

    return make


# --- optimizers -------------------------------------------------------------------------------------------------------------------


def runtime(level):
    def make(case, source, out):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.optimized_model_filepath, options.log_severity_level = level, str(out), 4
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return make


def simplify(model, **words):
    import onnxsim

    return onnxsim.simplify(model, **words)[0]


def simplify_fixed(case, source, out):
    save(simplify(onnx.load(source), overwrite_input_shapes={one.name: dims_of(one) for one in case.what.inputs}), out)


def slim(model, **words):
    import onnxslim

    return onnxslim.slim(model, **words)


def optimizer_default(model):
    import onnxoptimizer

    return onnxoptimizer.optimize(model)


def optimizer_all(model):
    import onnxoptimizer

    return onnxoptimizer.optimize(model, onnxoptimizer.get_fuse_and_elimination_passes())


def script_optimize(model):
    import onnxscript.optimizer

    return onnxscript.optimizer.optimize(model)


def script_rewrite(model):
    import onnxscript.rewriter

    return onnxscript.rewriter.rewrite(onnxscript.optimizer.optimize(model))


def transformers(level):
    """Its own fusions; from level 1 on ONNX Runtime's before them."""

    def make(case, source, out):
        from onnxruntime.transformers import optimizer

        if not case.what.fuser:
            raise NotMade("no transformer")
        words = {"model_type": case.what.fuser, "num_heads": case.what.heads, "hidden_size": case.what.hidden}
        optimizer.optimize_model(str(source), opt_level=level, **words).save_model_to_file(str(out))

    return make


# --- ways that change the file, not the arithmetic ------------------------------------------------------------------------------------


def infer_shapes(model):
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def infer_symbolic(model):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    return SymbolicShapeInference.infer_shapes(model, auto_merge=True)


def prepare(case, source, out, **words):
    from onnxruntime.quantization.shape_inference import quant_pre_process

    quant_pre_process(str(source), str(out), auto_merge=True, **words)


def opset(version):
    return edit(lambda model: onnx.version_converter.convert_version(model, version))


def external(case, source, out):
    (out.parent / "external.data").unlink(missing_ok=True)
    onnx.save(onnx.load(source), str(out), save_as_external_data=True, location="external.data", size_threshold=64)


def fix_dims(model):
    from onnxruntime.tools.onnx_model_utils import make_dim_param_fixed

    for name, size in FREE.items():
        make_dim_param_fixed(model.graph, name, size)
    return model


def rename_inside(model):
    from onnx import compose

    return compose.add_prefix(model, "other/", rename_inputs=False, rename_outputs=False)


def rename_outside(model):
    from onnx import compose

    return compose.add_prefix(model, "other/")


def constants_as_nodes(model):
    """Each initializer becomes a Constant, as older exporters and TensorFlow's write them."""
    nodes = [onnx.helper.make_node("Constant", [], [tensor.name], value=tensor, name="constant/" + tensor.name) for tensor in model.graph.initializer]
    nodes += list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


# --- 16 bits ----------------------------------------------------------------------------------------------------------------------


def common_half(keep):
    def change(model):
        from onnxconverter_common import float16

        return float16.convert_float_to_float16(model, keep_io_types=keep)

    return edit(change)


def transformers_half(keep):
    def change(model):
        from onnxruntime.transformers import float16

        return float16.convert_float_to_float16(model, keep_io_types=keep)

    return edit(change)


# --- 8 bits and fewer -------------------------------------------------------------------------------------------------------------


def prepared(case, source) -> str:
    """As ONNX Runtime's guide says: the quantizers take what quant_pre_process wrote, without symbolic shapes where it fails on them."""
    out = case.folder / "prepared.onnx"
    if out.exists():
        return str(out)
    try:
        prepare(case, source, out)
    except Exception:  # it asserts
        prepare(case, source, out, skip_symbolic_shape=True)
    return str(out)


def reader(case):
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.feeds = iter(truth.samples(case.what.inputs, 8, seed=23))

        def get_next(self):
            return next(self.feeds, None)

    return Reader()


def static(activation, weight, form="QDQ", **words):
    def make(case, source, out):
        from onnxruntime import quantization as q

        words["extra_options"] = {"ActivationSymmetric": activation == "QInt8"}
        q.quantize_static(prepared(case, source), str(out), reader(case), quant_format=getattr(q.QuantFormat, form),
                          activation_type=getattr(q.QuantType, activation), weight_type=getattr(q.QuantType, weight), **words)

    return make


def dynamic(weight, **words):
    def make(case, source, out):
        from onnxruntime import quantization as q

        q.quantize_dynamic(prepared(case, source), str(out), weight_type=getattr(q.QuantType, weight), **words)

    return make


def blocks(bits, size, symmetric, form="QOperator"):
    def change(model):
        from onnxruntime.quantization import QuantFormat
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        maker = MatMulNBitsQuantizer(model, bits, size, symmetric, quant_format=getattr(QuantFormat, form))
        maker.process()
        return maker.model.model

    return edit(changed(change))


def bnb4(kind):
    def change(model):
        from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer

        maker = MatMulBnb4Quantizer(model, kind, 32)
        maker.process()
        return maker.model.model

    return edit(changed(change))


def changed(change):
    """Refuses where there is nothing that the tool takes."""

    def wrapped(model):
        before = [node.op_type for node in model.graph.node]
        out = change(model)
        if [node.op_type for node in out.graph.node] == before:
            raise NotMade("nothing that it takes")
        return out

    return wrapped


# --- the table --------------------------------------------------------------------------------------------------------------------

BASIC, EXTENDED, ALL = Level.ORT_ENABLE_BASIC, Level.ORT_ENABLE_EXTENDED, Level.ORT_ENABLE_ALL
HALF = ("--precision=fp16",)

WAYS = (
    Way("TorchScript folded", "kept", "folded"),
    Way("torch.fx fuse", "kept", "fx"),
    Way("dynamo", "kept", "dynamo"),
    Way("dynamo optimized", "kept", "dynamo_optimized"),
    Way("ORT basic", "kept", runtime(BASIC)),
    Way("ORT extended", "kept", runtime(EXTENDED)),
    Way("ORT all", "kept", runtime(ALL)),
    Way("ORT extended of dynamo", "kept", runtime(EXTENDED), "dynamo optimized"),
    Way("onnxsim", "kept", edit(simplify)),
    Way("onnxsim, fixed dims", "kept", simplify_fixed, words=("--allow-interface",)),
    Way("onnxsim of dynamo", "kept", edit(simplify), "dynamo optimized"),
    Way("onnxslim", "kept", edit(slim)),
    Way("onnxslim of dynamo", "kept", edit(slim), "dynamo optimized"),
    Way("onnxoptimizer", "kept", edit(optimizer_default)),
    Way("onnxoptimizer all", "kept", edit(optimizer_all)),
    Way("onnxscript optimize", "kept", edit(script_optimize)),
    Way("onnxscript rewrite", "kept", edit(script_rewrite)),
    Way("transformers.optimizer 0", "kept", transformers(0)),
    Way("transformers.optimizer 1", "kept", transformers(1)),
    Way("transformers.optimizer 2", "kept", transformers(2)),
    Way("shape inference", "kept", edit(infer_shapes)),
    Way("symbolic shape inference", "kept", edit(infer_symbolic)),
    Way("quant_pre_process", "kept", prepare),
    Way("opset 15", "kept", opset(15)),
    Way("opset 18", "kept", opset(18)),
    Way("opset 21", "kept", opset(21)),
    Way("external data", "kept", external),
    Way("fixed dims", "kept", edit(fix_dims), words=("--allow-interface",)),
    Way("renamed inside", "kept", edit(rename_inside)),
    Way("renamed outside", "kept", edit(rename_outside), words=("--match=position",)),
    Way("constants as nodes", "kept", edit(constants_as_nodes)),
    Way("fp16, converter-common", "fp16", common_half(True), words=HALF),
    Way("fp16, converter-common, f16 io", "fp16", common_half(False), words=HALF),
    Way("fp16, ORT transformers", "fp16", transformers_half(True), words=HALF),
    Way("fp16, ORT transformers, f16 io", "fp16", transformers_half(False), words=HALF),
    Way("fp16, onnxslim", "fp16", edit(functools.partial(slim, dtype="fp16")), words=HALF),
    Way("fp16, half() exported", "fp16", "half", words=HALF),
    Way("fp16, then ORT basic", "halves", runtime(BASIC), "fp16, ORT transformers", HALF),
    Way("fp16, then ORT extended", "halves", runtime(EXTENDED), "fp16, ORT transformers", HALF),
    Way("int8 dynamic", "lossy", dynamic("QInt8")),
    Way("uint8 dynamic, per channel", "lossy", dynamic("QUInt8", per_channel=True, reduce_range=True)),
    Way("int8 dynamic, then ORT extended", "steps", runtime(EXTENDED), "int8 dynamic"),
    Way("QDQ u8s8 per tensor", "lossy", static("QUInt8", "QInt8")),
    Way("QDQ u8s8 per channel", "lossy", static("QUInt8", "QInt8", per_channel=True)),
    Way("QDQ u8u8", "lossy", static("QUInt8", "QUInt8")),
    Way("QDQ s8s8 symmetric", "lossy", static("QInt8", "QInt8")),
    Way("QDQ u16s8", "lossy", static("QUInt16", "QInt8")),
    Way("QOperator u8s8", "lossy", static("QUInt8", "QInt8", "QOperator")),
    Way("QOperator u8s8 per channel", "lossy", static("QUInt8", "QInt8", "QOperator", per_channel=True)),
    Way("QDQ, then ORT basic", "steps", runtime(BASIC), "QDQ u8s8 per tensor"),
    Way("QDQ, then ORT extended", "steps", runtime(EXTENDED), "QDQ u8s8 per tensor"),
    Way("QDQ per channel, then ORT all", "steps", runtime(ALL), "QDQ u8s8 per channel"),
    Way("QDQ s8s8, then ORT extended", "steps", runtime(EXTENDED), "QDQ s8s8 symmetric"),
    Way("int4 blocks of 32", "lossy", blocks(4, 32, True), "TorchScript folded"),
    Way("int4 blocks of 128, asymmetric", "lossy", blocks(4, 128, False), "TorchScript folded"),
    Way("int4 blocks of 32, QDQ", "lossy", blocks(4, 32, True, "QDQ"), "TorchScript folded"),
    Way("int8 blocks of 32", "lossy", blocks(8, 32, True), "TorchScript folded"),
    Way("bnb4", "lossy", bnb4(1), "TorchScript folded"),
    Way("int4, then ORT extended", "steps", runtime(EXTENDED), "int4 blocks of 32"),
    Way("int4 and fp16", "lossy", transformers_half(True), "int4 blocks of 32"),
)


def way(name: str) -> Way:
    return next(one for one in WAYS if one.name == name)


def against(one: Way) -> str:
    """What it is judged against: what it begins with, or, where that is coarser already and the way makes it coarser still, what that began with."""
    base = one.base
    while one.kind in ("fp16", "lossy") and base != "original" and way(base).kind in ("fp16", "lossy"):
        base = way(base).base
    return base
