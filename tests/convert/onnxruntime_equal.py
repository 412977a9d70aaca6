"""Compares converted models with their originals in ONNX Runtime, bit for bit. Argument: a folder of NAME.onnx with NAME.weights.onnx,
NAME.io.onnx (images channels-last) and NAME.transposes.onnx. Exit 77: no ONNX Runtime."""
import pathlib
import sys

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as error:
    print(error)
    sys.exit(77)

LEVELS = [ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, ort.GraphOptimizationLevel.ORT_ENABLE_ALL]


def run(path, level, x):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    shape = [dim if isinstance(dim, int) else 1 for dim in session.get_inputs()[0].shape]
    return session.run(None, {session.get_inputs()[0].name: x(shape)})


def images(shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


failures = 0
for original in sorted(pathlib.Path(sys.argv[1]).glob("*.original.onnx")):
    name = str(original)[: -len(".original.onnx")]
    for level in LEVELS:
        expected = run(original, level, images)
        last = lambda shape: np.ascontiguousarray(np.moveaxis(images([shape[0], shape[-1], *shape[1:-1]]), 1, -1))
        results = {"weights": run(name + ".weights.onnx", level, images), "transposes": run(name + ".transposes.onnx", level, images)}
        results["io"] = [np.moveaxis(y, -1, 1) if y.ndim >= 4 else y for y in run(name + ".io.onnx", level, last)]
        for kind, got in results.items():
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(expected, got)):
                failures += 1
                print(f"{name} {kind} {level}: differs")
print(f"{failures} differences")
sys.exit(1 if failures else 0)
