"""Times models in another runtime for a benchmark that asks line by line: peer_time.py onnxruntime|openvino [THREADS]. The first line is the
runtime's version. "load FILE" (a model, beside it perhaps test_data_set_0) is answered with "ok" or why not, "run N" with the seconds of
one run of N: processor time and time on the clock. Without data each input holds numbers between -0.5 and 0.5, open dims are 1."""
import pathlib
import sys
import time

import numpy


class OnnxRuntime:
    types = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(int64)": "int64", "tensor(int32)": "int32",
             "tensor(uint8)": "uint8", "tensor(int8)": "int8", "tensor(bool)": "bool"}

    def __init__(self, threads):
        import onnxruntime

        self.runtime = onnxruntime
        self.version = onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads, self.options.inter_op_num_threads = threads, 1
        self.options.log_severity_level = 4

    def load(self, model):
        self.session = self.runtime.InferenceSession(str(model), self.options, providers=["CPUExecutionProvider"])
        return [(one.name, one.shape, self.types[one.type]) for one in self.session.get_inputs()]

    def run(self, inputs):
        self.session.run(None, inputs)


class OpenVino:
    def __init__(self, threads):
        import openvino

        self.core = openvino.Core()
        self.version = openvino.__version__.split("-")[0]
        # Without the hint for precision it computes in bfloat16 where the processor can.
        self.settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}

    def load(self, model):
        read = self.core.read_model(model)
        ports = [(port.get_any_name(), [dim.get_length() if dim.is_static else 1 for dim in port.partial_shape],
                  port.element_type.to_dtype().name) for port in read.inputs]
        read.reshape({name: shape for name, shape, _ in ports})
        self.request = self.core.compile_model(read, "CPU", self.settings).create_infer_request()
        return ports

    def run(self, inputs):
        self.request.infer(inputs, share_inputs=True, share_outputs=True)


def data_for(model, ports):
    folder = model.parent / "test_data_set_0"
    if folder.is_dir():
        import onnx

        messages = [onnx.TensorProto.FromString((folder / f"input_{i}.pb").read_bytes()) for i in range(len(ports))]
        return {port[0]: onnx.numpy_helper.to_array(message) for port, message in zip(ports, messages)}
    random = numpy.random.default_rng(1)
    shapes = [[dim if isinstance(dim, int) else 1 for dim in shape] for _, shape, _ in ports]
    return {name: (random.random(dims) - 0.5).astype(kind) for (name, _, kind), dims in zip(ports, shapes)}


def serve(runtime):
    inputs = {}

    def load(argument):
        nonlocal inputs
        inputs = data_for(pathlib.Path(argument), runtime.load(pathlib.Path(argument)))
        for _ in range(2):
            runtime.run(inputs)
        return "ok"

    def run(argument):
        processor, clock = time.process_time(), time.perf_counter()
        for _ in range(int(argument)):
            runtime.run(inputs)
        seconds = [time.process_time() - processor, time.perf_counter() - clock]
        return " ".join(str(one / int(argument)) for one in seconds)

    print(runtime.version, flush=True)
    for line in sys.stdin:
        command, argument = line.rstrip("\n").split(" ", 1)
        try:
            print({"load": load, "run": run}[command](argument), flush=True)
        except Exception as error:  # the benchmark shows it
            print(str(error).replace("\n", " ")[:160], flush=True)


serve({"onnxruntime": OnnxRuntime, "openvino": OpenVino}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 1))
