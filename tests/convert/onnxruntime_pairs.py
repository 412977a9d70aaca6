"""Runs NAME.a.onnx and NAME.b.onnx of a folder in ONNX Runtime on one input, and compares the outputs: names, types, dims and bits.
Exit 77: no ONNX Runtime."""
import pathlib
import sys

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as error:
    print(error)
    sys.exit(77)

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def numbers(port, seed):
    shape = [dim if isinstance(dim, int) else 2 for dim in port.shape]
    return (np.random.default_rng(seed).standard_normal(shape) * 4).astype(TYPES[port.type])


def run(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    values = session.run(None, {port.name: numbers(port, seed) for seed, port in enumerate(session.get_inputs())})
    return {port.name: value for port, value in zip(session.get_outputs(), values)}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


pairs = sorted(pathlib.Path(sys.argv[1]).glob("*.a.onnx"))
failures = 0
for a in pairs:
    expected, got = run(a), run(str(a)[: -len("a.onnx")] + "b.onnx")
    if list(expected) != list(got) or not all(same(expected[name], got[name]) for name in expected):
        failures += 1
        print(f"{a.name}: {expected} became {got}")
print(f"{failures} of {len(pairs)} differ")
sys.exit(1 if failures or not pairs else 0)
