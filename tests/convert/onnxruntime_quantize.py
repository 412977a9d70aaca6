"""Quantises an original model and the same after a conversion was taken back, with ONNX Runtime: both give the same weights. Arguments:
ORIGINAL, CONVERTED, BACK. What the tools make of the converted one is printed. Exit 77: no ONNX Runtime with its quantisation tools."""
import pathlib
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static
except ImportError as error:
    print(error)
    sys.exit(77)


class Images(CalibrationDataReader):
    def __init__(self, path):
        value = onnx.load(path).graph.input[0]
        shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        self.left = [{value.name: np.random.default_rng(i).standard_normal(shape).astype(np.float32)} for i in range(2)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantize(how, path, target):
    if how == "dynamic":
        quantize_dynamic(path, target)
    else:
        quantize_static(path, target, Images(path))
    return onnx.load(target)


def weights(model):
    return sorted((tensor.name, onnx.numpy_helper.to_array(tensor).tobytes()) for tensor in model.graph.initializer)


failures = 0
original, converted, back = sys.argv[1:4]
with tempfile.TemporaryDirectory() as folder:
    target = str(pathlib.Path(folder) / "quantized.onnx")
    for how in ("dynamic", "static"):
        if weights(quantize(how, original, target)) != weights(quantize(how, back, target)):
            failures += 1
            print(f"{how}: other weights")
        try:
            made = quantize(how, converted, target)
            left = [tensor.name for tensor in made.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) > 2]
            print(f"{how} on the converted model: {len(left)} float weights left")
        except Exception as error:
            print(f"{how} on the converted model: {type(error).__name__}: {error}")
sys.exit(1 if failures else 0)
