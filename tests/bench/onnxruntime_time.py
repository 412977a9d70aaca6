"""Times models in ONNX Runtime for a benchmark that asks line by line: "load FOLDER" (model.onnx and test_data_set_0) is answered with "ok"
or why not, "run N" with the seconds of processor time of one run, N of them measured. One thread."""
import pathlib
import sys
import time

import onnx
import onnxruntime as ort
from onnx import numpy_helper

options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 4
session, inputs = None, {}


def load(folder):
    global session, inputs
    session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    inputs = {}
    for number, declared in enumerate(session.get_inputs()):
        tensor = onnx.TensorProto.FromString((folder / "test_data_set_0" / f"input_{number}.pb").read_bytes())
        inputs[declared.name] = numpy_helper.to_array(tensor)
    for _ in range(2):
        session.run(None, inputs)
    return "ok"


def run(count):
    start = time.process_time()
    for _ in range(count):
        session.run(None, inputs)
    return (time.process_time() - start) / count


print(ort.__version__, flush=True)
for line in sys.stdin:
    command, argument = line.rstrip("\n").split(" ", 1)
    try:
        print(load(pathlib.Path(argument)) if command == "load" else run(int(argument)), flush=True)
    except Exception as error:  # the benchmark shows it
        print(str(error).replace("\n", " ")[:160], flush=True)
