"""Other tools on the same models, each in a process of its own, since some of them crash: what they make, or nothing."""

import importlib.util
import multiprocessing

import onnx

LONGEST = 60  # seconds


def by_runtime(level: str):
    """Of ONNX Runtime, for any processor."""

    def transform(source, target):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}"), 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.optimized_model_filepath = str(target)
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return transform


def by_onnxsim(source, target):
    import onnxsim

    onnx.save(onnxsim.simplify(onnx.load(source))[0], target)


def by_onnxslim(source, target):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source)), target)


def by_onnxoptimizer(source, target):
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(source), onnxoptimizer.get_fuse_and_elimination_passes()), target)


TOOLS = {
    "onnxruntime basic": by_runtime("basic"),
    "onnxruntime extended": by_runtime("extended"),
    "onnxsim": by_onnxsim,
    "onnxslim": by_onnxslim,
    "onnxoptimizer": by_onnxoptimizer,
}


def available() -> list[str]:
    return [name for name in TOOLS if importlib.util.find_spec(name.split()[0])]


def quietly(name: str, source, target):
    import contextlib
    import io
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with contextlib.redirect_stdout(io.StringIO()):
        TOOLS[name](source, target)


def transformed(name: str, source, target) -> tuple:
    """The model that the tool makes, or None and what happened."""
    child = multiprocessing.get_context("fork").Process(target=quietly, args=(name, source, target))
    child.start()
    child.join(LONGEST)
    if child.is_alive():
        child.kill()
        child.join()
        return None, f"no end in {LONGEST} s"
    if child.exitcode:
        return None, f"signal {-child.exitcode}" if child.exitcode < 0 else "refused"
    try:
        return onnx.load(target), ""
    except Exception as error:
        return None, f"no model: {error}"
