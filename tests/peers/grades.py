"""Stored models in other precisions, as ONNX Runtime's own tools write them: made once, below the cache."""
import os
import pathlib

import numpy
import onnx
import onnxruntime

onnxruntime.set_default_logger_severity(4)
TYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "relayout"


def half(file, out):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(file)), out)


class Random:
    """Inputs to calibrate on: free dims are 1."""

    def __init__(self, file, count=2):
        dice = numpy.random.default_rng(5)
        ports = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).get_inputs()
        dims = {port.name: [dim if isinstance(dim, int) and dim > 0 else 1 for dim in port.shape] for port in ports}
        self.left = [{port.name: dice.standard_normal(dims[port.name]).astype(TYPES[port.type]) for port in ports} for _ in range(count)]

    def get_next(self):
        return self.left.pop() if self.left else None


def eighth(file, out):
    """QDQ, per channel where all dims are known, else by dynamic quantization."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static

    try:
        quantize_static(file, out, Random(file), quant_format=QuantFormat.QDQ, per_channel=True, weight_type=QuantType.QInt8)
    except Exception:  # any of a tool: the other way is tried
        quantize_dynamic(file, out, weight_type=QuantType.QInt8)


def runs(file) -> bool:
    try:
        feeds = Random(str(file), 1).get_next()
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        session.run(None, feeds)
        return True
    except Exception:
        return False


def of(files, folder: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """The files by grade: as they are, and those of fp16 and int8 that ONNX Runtime makes and runs."""
    folder.mkdir(parents=True, exist_ok=True)
    out = {"f32": list(files), "fp16": [], "int8": []}
    for grade, make in (("fp16", half), ("int8", eighth)):
        for file in files:
            target = folder / f"{file.parent.name}.{grade}.onnx"
            note = target.with_suffix(".why")
            if not target.exists() and not note.exists():
                part = target.with_suffix(f".{os.getpid()}.part")
                try:
                    make(str(file), str(part))
                    if not runs(part):
                        raise ValueError("ONNX Runtime does not run it")
                    os.replace(part, target)
                except Exception as error:  # any of a tool
                    note.write_text(str(error)[:200])
                    part.unlink(missing_ok=True)
            if target.exists():
                out[grade].append(target)
    return out
