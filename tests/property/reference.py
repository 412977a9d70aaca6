#!/usr/bin/env python3
"""Compares pairs NAME.before.onnx, NAME.after.onnx in a folder by an evaluator that is not relayout's: ONNX Runtime without
optimizations, or ONNX's reference evaluator where that is correct.

usage: reference.py FOLDER

Prints one line per difference and a summary. Exit 0: all the same, 1: differences, 77: neither evaluator is installed."""
import glob
import os
import sys

try:
    import numpy as np
    import onnx
except ImportError:
    print("no numpy or onnx for this Python")
    sys.exit(77)
try:
    import onnxruntime
except ImportError:
    onnxruntime = None
try:
    from onnx.reference import ReferenceEvaluator
except ImportError:
    ReferenceEvaluator = None

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-4, np.float16: 0.1}


def feeds_of(model, seed):
    random = np.random.default_rng(seed)
    constants = {tensor.name for tensor in model.graph.initializer}
    out = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        dims = [int(d.dim_param[1:]) if d.dim_param else d.dim_value for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        out[value.name] = np.array(seed % 2 == 0) if dtype == np.bool_ else random.standard_normal(dims).astype(dtype)
    return out


def reference_is_right(model):
    """onnx.reference mixes batch statistics into BatchNormalization of opset 9 to 13, and has MaxPool with asymmetric pads and the
    bias of a ConvTranspose in groups wrong."""
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    nodes = list(model.graph.node)
    for node in list(nodes):
        for attribute in node.attribute:
            nodes.extend(attribute.g.node)
    for node in nodes:
        if node.op_type == "BatchNormalization" and opset < 14:
            return False
        if node.op_type == "ConvTranspose" and any(a.name == "group" and a.i > 1 for a in node.attribute):
            return False
        if node.op_type == "MaxPool":
            pads = next((list(a.ints) for a in node.attribute if a.name == "pads"), [])
            if pads[: len(pads) // 2] != pads[len(pads) // 2 :]:
                return False
    return opset >= 7


def by_runtime(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def by_reference(path, feeds):
    return ReferenceEvaluator(path).run(None, feeds)


def evaluators_of(model):
    if onnxruntime is not None:
        yield "onnxruntime", by_runtime
    if ReferenceEvaluator is not None and reference_is_right(model):
        yield "onnx.reference", by_reference


def difference(a, b, scale):
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{a.shape} became {b.dtype}{b.shape}"
    error = np.abs(a.astype(np.float64) - b.astype(np.float64))
    worst = float(np.max(error, initial=0))
    return f"off by {worst:.3g} of {scale:.3g}" if not worst <= TOLERANCE[a.dtype.type] * scale else ""


def compare(before, after):
    """Number of evaluators that could run both models, and the differences that they found."""
    model = onnx.load(before)
    ran, found = 0, []
    for name, evaluate in evaluators_of(model):
        for seed in range(2):
            feeds = feeds_of(model, seed)
            try:
                expected = evaluate(before, feeds)
            except Exception:
                break  # an original that it cannot run is no evidence
            try:
                results = evaluate(after, feeds)
            except Exception as error:
                found.append(f"{name} cannot run the result: {str(error).splitlines()[0]}")
                break
            values = [v.astype(np.float64) for v in expected if v.size]
            scale = max((float(np.max(np.abs(v))) for v in values), default=0.0)
            if not np.isfinite(scale):
                break
            for output, a, b in zip(model.graph.output, expected, results):
                text = difference(a, b, scale)
                if text:
                    found.append(f"{name}, output {output.name}: {text}")
        else:
            ran += 1
    return ran, found


def main():
    if onnxruntime is None and ReferenceEvaluator is None:
        print("neither onnxruntime nor onnx.reference")
        sys.exit(77)
    compared = differing = pairs = 0
    for before in sorted(glob.glob(os.path.join(sys.argv[1], "*.before.onnx"))):
        pairs += 1
        ran, found = compare(before, before.replace(".before.onnx", ".after.onnx"))
        compared += ran > 0
        differing += bool(found)
        for text in found:
            print(f"{os.path.basename(before).split('.')[0]}: {text}")
    print(f"compared {compared} of {pairs} pairs, {differing} differ")
    sys.exit(1 if differing else 0)


main()
