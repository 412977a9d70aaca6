"""`relayout verify --suite` over a Dask cluster: one future per case, longest first, merged into the report of one run.

    python -m relayout.dask --scheduler tcp://head:8786 --suite models --against converted --samples 2 --junit report.xml

The trees must lie at the same path on every worker, and the program must be there: this package, or what --program names. All other options
are those of `relayout verify --suite`; --json, --junit, --markdown, --html and --github those of `relayout report merge`, whose exit code this
has. A case whose worker dies runs again on another one. With --cache DIR on a disk that all workers see, nothing runs twice across runs.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from typing import Any, Dict, List, Sequence

_TREE_VALUES = ("--against", "--pair")
_CHOICE_VALUES = ("--case", "--cases-from", "--shard")
_REPORT_VALUES = ("--junit", "--markdown", "--html", "--expected")
_REPORT_FLAGS = ("--json", "--github", "--quiet", "-q", "--verbose", "-v")


def _program(given: str, arguments: Sequence[str]) -> List[str]:
    if given:
        return [given, *arguments]
    import relayout

    return relayout.command(arguments)


def _run_case(given: str, arguments: Sequence[str], name: str) -> str:
    """On a worker: the report of one case, as JSON."""
    words = _program(given, ["verify", "--suite", *arguments, "--case", name, "--json", "--quiet", "--jobs", "1"])
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # 0 and 1 are answers; everything else is that of a worker which cannot give one.
    if done.returncode not in (0, 1):
        raise RuntimeError("{}: exit {}: {}".format(name, done.returncode, done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout.decode("utf-8")


def _longest_first(names: List[str], report: str) -> List[str]:
    if not report:
        return names
    with open(report, encoding="utf-8") as file:
        seconds = {case["name"]: case["seconds"] for case in json.load(file)["cases"]}  # type: Dict[str, float]
    known = sorted(seconds[name] for name in names if name in seconds)
    median = known[(len(known) - 1) // 2] if known else 0.0
    return sorted(names, key=lambda name: -seconds.get(name, median))


def _parse(words: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(prog="python -m relayout.dask", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", required=True, metavar="ADDRESS", help="of the cluster: tcp://HOST:8786, or a scheduler file")
    parser.add_argument("--suite", required=True, metavar="TREE")
    parser.add_argument("--durations", default="", metavar="REPORT", help="an earlier report (--json): longest cases first")
    parser.add_argument("--retries", type=int, default=2, metavar="N", help="further attempts of a case that a worker could not run (default: 2)")
    parser.add_argument("--program", default="", metavar="FILE", help="relayout on the workers and here (default: that of this package)")
    return parser.parse_known_args(words)


def _split(words: Sequence[str]) -> Any:
    """Options of the list of cases, of each case, and of the merged report."""
    listed, case, report = [], [], []  # type: List[str], List[str], List[str]
    rest = iter(words)
    for word in rest:
        name = word.split("=", 1)[0]
        has_value = name in _TREE_VALUES + _CHOICE_VALUES + _REPORT_VALUES
        group = [word] if name != word or not has_value else [word, next(rest, "")]
        if name in _TREE_VALUES + _CHOICE_VALUES:
            listed += group
        if name in _REPORT_VALUES or word in _REPORT_FLAGS:
            report += group
        elif name not in _CHOICE_VALUES:
            case += group
    return listed, case, report


class _Unusable(Exception):
    """A module or program that the run needs is missing; the message says which."""


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise _Unusable("Dask is missing: pip install distributed") from None
    try:
        return Client(scheduler_file=address) if os.path.isfile(address) else Client(address)
    except (OSError, ValueError) as error:
        raise _Unusable("--scheduler {}: {}".format(address, error)) from None


def _list_cases(program: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    words = _program(program, ["verify", "--suite", *arguments, "--list", "-0"])
    try:
        return subprocess.run(words, stdout=subprocess.PIPE)
    except OSError as error:
        raise _Unusable("{}: {}; --program FILE names the program".format(words[0], error.strerror)) from None


def _collect(client: Any, options: Any, arguments: Sequence[str], names: List[str], folder: str) -> List[str]:
    """Runs the cases; each report goes into the folder as it comes. Gives back what went wrong."""
    from distributed import as_completed

    run = uuid.uuid4().hex
    futures = {}  # type: Dict[Any, str]
    for rank, name in enumerate(_longest_first(names, options.durations)):
        future = client.submit(_run_case, options.program, list(arguments), name, key="relayout-{}-{}".format(run, rank),
                               priority=-rank, retries=options.retries, pure=False)
        futures[future] = name
    faults = []  # type: List[str]
    try:
        for done, future in enumerate(as_completed(list(futures)), 1):
            if future.status == "finished":
                with open(os.path.join(folder, "{}.json".format(future.key.rsplit("-", 1)[1])), "w", encoding="utf-8") as file:
                    file.write(future.result())
            else:
                faults.append(str(future.exception() if future.status == "error" else futures[future] + ": " + future.status))
            future.release()
            if sys.stderr.isatty():
                print("\rverified {} of {}".format(done, len(futures)), end="\n" if done == len(futures) else "", file=sys.stderr)
    except BaseException:
        client.cancel(list(futures))
        raise
    return faults


def _merge(options: Any, report: Sequence[str], names: List[str], folder: str, more: Sequence[str]) -> int:
    listing = os.path.join(folder, "names")
    with open(listing, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("".join(name + "\0" for name in names))
    sys.stdout.flush()
    return subprocess.call(_program(options.program, ["report", "merge", folder, "--cases-from", listing, *report, *more]))


def _interrupt(number: int, _frame: Any) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt(number)


def main(words: Sequence[str]) -> int:
    options, rest = _parse(words)
    choice, case, report = _split(rest)
    arguments = [options.suite, *case]
    found = _list_cases(options.program, [options.suite, *choice])
    if found.returncode != 0:
        return found.returncode
    names = [os.fsdecode(name) for name in found.stdout.split(b"\0") if name]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    with tempfile.TemporaryDirectory(prefix="relayout-dask-") as folder:
        try:
            with _client(options.scheduler) as client:
                faults = _collect(client, options, arguments, names, folder)
        except KeyboardInterrupt as interruption:
            # What is done is told, as a run of one machine does.
            if any(name.endswith(".json") for name in os.listdir(folder)):
                _merge(options, report, names, folder, ["--allow-missing"])
            return 128 + (interruption.args[0] if interruption.args else signal.SIGINT)
        for fault in faults[:3]:
            print("relayout.dask: " + fault, file=sys.stderr)
        if faults:
            print("relayout.dask: {} of {} cases could not be run".format(len(faults), len(names)), file=sys.stderr)
            return 5
        return _merge(options, report, names, folder, [])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except _Unusable as fault:
        print("relayout.dask: {}".format(fault), file=sys.stderr)
        sys.exit(5)
