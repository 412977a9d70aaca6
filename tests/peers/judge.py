"""Runs a program and tells what it cost and said."""
import json
import os
import pathlib
import resource
import subprocess
import tempfile
from dataclasses import dataclass, field

LONGEST = 60  # seconds of processor time


@dataclass
class Verdict:
    code: int
    cpu: float
    report: dict = field(default_factory=dict)
    error: str = ""

    @property
    def word(self) -> str:
        return self.report.get("verdict") or {3: "invalid", 4: "not supported", -24: f"no answer in {LONGEST} s"}.get(self.code, f"exit {self.code}")

    @property
    def reason(self) -> str:
        return self.report.get("reason") or self.report.get("error", {}).get("message", "") or self.error


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 5))


def timed(words) -> tuple[int, float, str, str]:
    """Exit code, seconds of processor time with all children, output, errors."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limit)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return child.returncode, usage.ru_utime + usage.ru_stime, out.read().decode(errors="replace"), err.read().decode(errors="replace")


class Judge:
    def __init__(self, program: pathlib.Path):
        self.program = program

    def verify(self, a, b, *words) -> Verdict:
        code, cpu, out, error = timed([self.program, "verify", a, b, "--json", "--threads", "1", *words])
        try:
            return Verdict(code, cpu, json.loads(out), error.strip())
        except json.JSONDecodeError:
            return Verdict(code, cpu, {}, (error or out).strip())

    @staticmethod
    def command(a, b, *words) -> str:
        return " ".join(map(str, ["relayout", "verify", a, b, *words]))


def polygraphy(python: str, a, b, feed: dict, folder: pathlib.Path) -> float | None:
    """Seconds of polygraphy's comparison of the same files on one sample: two runs, the second against the outputs of the first. Nothing
    where it does not run them."""
    tool = [python, "-c", "from polygraphy.tools import main; raise SystemExit(main())", "run", "--onnxrt", "--silent"]
    inputs, outputs = folder / "inputs.json", folder / "outputs.json"
    from polygraphy.json import save_json

    save_json([feed], str(inputs))
    code, first, _, _ = timed([*tool, a, "--load-inputs", inputs, "--save-outputs", outputs])
    if code != 0:
        return None
    _, second, _, _ = timed([*tool, b, "--load-inputs", inputs, "--load-outputs", outputs, "--rtol", "1e-3", "--atol", "1e-3"])
    return first + second
