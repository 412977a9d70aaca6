"""Compares bytes that a converted model gives in ONNX Runtime with those of its original's numbers, and the numbers of what was undone. Arguments:
original, converted (output y as bytes, channels-last), undone. Exit 77: no ONNX Runtime."""
import sys

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as error:
    print(error)
    sys.exit(77)


def run(path, x):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def run_bytes(path, x):
    return run(path, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))


x = np.random.default_rng(1).standard_normal((1, 3, 16, 16)).astype(np.float32)
numbers, found, back = run(sys.argv[1], x), run_bytes(sys.argv[2], x), run(sys.argv[3], x)
exact = np.clip(numbers.astype(np.float64) * 0.5 + 0.25, 0, 1).transpose(0, 2, 3, 1) * 255
wanted = np.rint(exact)
is_half = np.abs(exact - np.floor(exact) - 0.5) < 1e-3
wrong = (found != wanted) & ~is_half
print(found.dtype, found.shape, wrong.sum(), "wrong of", wanted.size, "from", found.min(), "to", found.max())
distance = np.abs(back - numbers).max() / np.abs(numbers).max()
print("undone:", back.dtype, back.shape, distance)
is_back = back.dtype == np.float32 and back.shape == numbers.shape and distance < 1e-6
ends = (wanted == 0).any() and (wanted == 255).any()
sys.exit(0 if found.dtype == np.uint8 and found.shape == wanted.shape and not wrong.any() and ends and is_back else 1)
