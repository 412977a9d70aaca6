"""relayout from Python: each function is one call of the program and gives back the JSON that it prints.

    import relayout
    relayout.convert("model.onnx", "model.cl.onnx", require_all_folded=True)
    report = relayout.verify("model.onnx", "model.cl.onnx", samples=8, dim={"batch": 2})

Options are those of the command line (`relayout convert --help`), named without their dashes and with _ for -:

=====================  ========================================
``samples=8``          ``--samples 8``
``simplify=True``      ``--simplify``
``fold=False``         ``--no-fold``
``exclude=["a", "b"]`` ``--exclude a --exclude b``
``dim={"N": 2}``       ``--dim N=2``
``mean=(0.5, 0.4)``    ``--mean 0.5 --mean 0.4``
``layers=None``        nothing
=====================  ========================================

A model is a path, the bytes of a file, or an ``onnx.ModelProto``; an input is a path or an array of numpy: ``input={"x": array}``.
"""

import contextlib
import json
import os
import subprocess
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

__version__ = "@VERSION@"
__all__ = ["Error", "command", "convert", "derive", "diff", "extract", "inspect", "merge", "profile", "run", "verify"]

Path = Union[str, "os.PathLike[str]"]
Model = Union[Path, bytes, Any]  # or an onnx.ModelProto
Report = Dict[str, Any]

_TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program-" + __version__)
# Options that have a --no- form; of all others False is the same as not given.
_TOGGLES = ("fold",)


class Error(Exception):
    """The program did not do what it was asked to.

    ``exit_code`` is the program's: 1 the answer is no, 2 usage, 3 model or data not valid, 4 not supported, 5 reading, writing or resources
    failed, 70 a defect in relayout, negative when a signal ended it. ``report`` is what it printed as JSON, where it did.
    """

    def __init__(self, message: str, exit_code: int, report: Optional[Report] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.report = report

    def __reduce__(self) -> Any:
        return Error, (self.args[0], self.exit_code, self.report)


def command(arguments: Sequence[Path]) -> List[str]:
    """The words that start the program with these arguments: ``subprocess.run(relayout.command(["--version"]))``."""
    library = os.path.join(_TREE, "lib", "relayout")
    launcher = os.path.join(_TREE, "bin", "relayout")
    words = [os.path.join(library, "ld-linux-x86-64.so.2"), "--argv0", launcher, "--inhibit-cache", os.path.join(library, "relayout")]
    return words + [os.fspath(word) for word in arguments]


def _words(options: Mapping[str, Any]) -> List[str]:
    words = []  # type: List[str]
    for key, value in options.items():
        name = "--" + key.rstrip("_").replace("_", "-")  # from_ and as_ stand for words of Python
        if value is None or (value is False and key not in _TOGGLES):
            continue
        if isinstance(value, bool):
            words.append(name if value else "--no-" + name[2:])
        elif isinstance(value, Mapping):
            for field, entry in value.items():
                text = ",".join(map(str, entry)) if isinstance(entry, (list, tuple)) else os.fspath(entry) if hasattr(entry, "__fspath__") else entry
                words += [name, "{}={}".format(field, text)]
        elif isinstance(value, (list, tuple)):
            for entry in value:
                words += [name, str(entry)]
        else:
            words += [name, os.fspath(value) if hasattr(value, "__fspath__") else str(value)]
    return words


@contextlib.contextmanager
def _on_disk(models: Sequence[Model], options: Mapping[str, Any]) -> "Iterator[Any]":
    """The models as paths, and the options with arrays as paths; what was in memory lies in a folder that goes away."""
    with contextlib.ExitStack() as stack:
        folders = []  # type: List[str]

        def place(name: str) -> str:
            if not folders:
                folders.append(stack.enter_context(tempfile.TemporaryDirectory(prefix="relayout-")))
            return os.path.join(folders[0], name)

        paths = []  # type: List[str]
        for number, model in enumerate(models):
            if isinstance(model, (bytes, bytearray)) or hasattr(model, "SerializeToString"):
                paths.append(place("model{}.onnx".format(number or "")))
                with open(paths[-1], "wb") as file:
                    file.write(model if isinstance(model, (bytes, bytearray)) else model.SerializeToString())
            else:  # a path may begin with a dash
                path = os.fspath(model)
                paths.append("./" + path if path.startswith("-") else path)
        named = dict(options)
        given = options.get("input")
        if isinstance(given, Mapping):
            named["input"] = dict(given)
            for number, (name, value) in enumerate(given.items()):
                if hasattr(value, "__array__"):
                    import numpy
                    named["input"][name] = place("input{}.npy".format(number))
                    numpy.save(named["input"][name], numpy.asarray(value), allow_pickle=False)
        yield paths, named


def _run(subcommand: str, models: Sequence[Model], options: Mapping[str, Any], answers: Sequence[int], first: Sequence[str] = ()) -> Report:
    with _on_disk(models, options) as (paths, named):
        return _call([subcommand, "--json", "--quiet"] + _words(named) + list(first) + paths, answers)


def _call(arguments: Sequence[Path], answers: Sequence[int]) -> Report:
    words = command(arguments)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    report = None  # type: Optional[Report]
    if done.stdout:
        try:
            report = json.loads(done.stdout.decode("utf-8"))
        except ValueError:
            raise Error("relayout printed no JSON document", done.returncode)
    if done.returncode in answers and report is not None:
        return report
    message = done.stderr.decode("utf-8", "replace").strip()
    if message.startswith("relayout: "):
        message = message[len("relayout: "):]
    raise Error(message or "relayout ended with exit code {}".format(done.returncode), done.returncode, report)


def convert(path: Model, out: Optional[Path] = None, **options: Any) -> Report:
    """Convert one model: fold BatchNormalizations, store convolution weights channels-last.

    ``out`` is the file to write; without it the program's default, ``NAME.cl.onnx`` beside a model that is a file. Gives back the report of this
    model (``relayout convert --json``). Raises Error when nothing was written that was asked for.
    """
    if out is None and not isinstance(path, str) and not hasattr(path, "__fspath__"):
        raise Error("a model in memory has no place for the result: give out", 2)
    if out is not None:
        options["output"] = "./" + os.fspath(out) if os.fspath(out).startswith("-") else out
    report = _run("convert", [path], options, (0,))
    models = report["models"]  # type: List[Report]
    return models[0]


def verify(a: Model, b: Model, **options: Any) -> Report:
    """Do two models compute the same? ``report["verdict"]`` is ``"same"``, ``"different"`` or ``"inconclusive"``.

    ``a`` is the model that is right, ``b`` the one to be judged. A difference is an answer, no exception. Raises Error when there is none.
    """
    return _run("verify", [a, b], options, (0, 1))


def inspect(path: Model, **options: Any) -> Report:
    """What is in a model and what ``convert`` would do with it (``relayout inspect --json``)."""
    return _run("inspect", [path], options, (0,))


def profile(path: Model, other: Optional[Model] = None, **options: Any) -> Report:
    """Where the time of a model goes (``relayout profile --json``); of two, how they compare.

    With ``fail_on_slowdown``, ``report["gate"]["verdict"]`` is ``"within"``, ``"slower"`` or ``"inconclusive"``: an answer, no exception.
    """
    return _run("profile", [path] if other is None else [path, other], options, (0, 1))


def derive(transform: str, path: Model, output: Path, **options: Any) -> Report:
    """Writes a model that computes derivatives, too (``relayout derive jvp|vjp|… --json``): new inputs and outputs by name."""
    return _run("derive", [path], {**options, "output": output}, (0,), [transform])


def merge(form: str, *parts: Model, output: Path, **options: Any) -> Report:
    """Writes several models as one (``relayout merge ensemble|chain --json``); nothing where ``report`` has a ``"difference"``."""
    return _run("merge", parts, {**options, "output": output}, (0, 1), [form])


def run(path: Model, **options: Any) -> Report:
    """Runs a model once (``relayout run --json``): its values, their ranges, the first that is not finite (``report["finite"]``).

    Where numpy is installed and nothing else is to be saved, ``report["arrays"]`` has the chosen values by name, the outputs by default:
    one array for a tensor, several for a sequence (``x[0]``, ``x[1]`` …).
    """
    try:
        import numpy
    except ImportError:
        numpy = None
    if numpy is None or options.get("save") is not None:
        return _run("run", [path], options, (0, 1))
    with tempfile.TemporaryDirectory(prefix="relayout-") as folder:
        saved = os.path.join(folder, "values.npz")
        report = _run("run", [path], {**options, "save": saved}, (0, 1))
        report.pop("saved", None)
        report["arrays"] = {}
        if os.path.exists(saved):
            with numpy.load(saved, allow_pickle=False) as arrays:
                report["arrays"] = {name: arrays[name] for name in arrays.files}
    return report


def extract(path: Model, out: Path, **options: Any) -> Report:
    """Writes the nodes between values as a model of their own; ``from_`` and ``to`` name the values."""
    options["output"] = "./" + os.fspath(out) if os.fspath(out).startswith("-") else out
    return _run("extract", [path], options, (0,))


def diff(baseline: Path, *others: Path, **options: Any) -> Report:
    """What traces or profiles differ in (``relayout diff --json``); ``report["failed"]`` names what a gate does not let pass."""
    return _run("diff", [baseline] + list(others), options, (0, 1))
