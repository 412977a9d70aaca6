"""Makes the files, once: below XDG_CACHE_HOME/relayout/peers. Tools crash and hang, so they work in processes of their own."""
import logging
import multiprocessing
import os
import pathlib
import time
import warnings

import truth
from models import Architecture, Exporter
from ways import WAYS, Case, NotMade, Way

PATIENCE = 300  # seconds for one file


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "relayout/peers"


def note_of(case: Case, way: str) -> pathlib.Path:
    """Beside the file's place: why it is not there."""
    return case.file(way).with_suffix(".why")


def why_not(case: Case, way: str) -> str:
    """Empty where the file is there."""
    return "" if case.file(way).exists() else note_of(case, way).read_text()


def is_settled(case: Case, way: str) -> bool:
    return case.file(way).exists() or note_of(case, way).exists()


def make_one(case: Case, name: str, make):
    """The file, or the note; nothing by half."""
    part = case.file(name).with_suffix(".part.onnx")
    try:
        make(part)
        os.replace(part, case.file(name))
    except Exception as error:  # any exception of a tool: it is listed in the table
        prefix = "" if isinstance(error, NotMade) else f"{type(error).__name__}: "
        note_of(case, name).write_text(prefix + (str(error).strip().splitlines() or [""])[0][:200])


def silent():
    """Everything tools print goes nowhere."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)


def export_all(case: Case):
    silent()
    exporter = Exporter(case.what)
    make_one(case, "original", exporter.original)
    for way in WAYS:
        if isinstance(way.make, str) and not is_settled(case, way.name):
            make_one(case, way.name, getattr(exporter, way.make))


def transform_all(case: Case, names: list[str]):
    silent()
    for way in WAYS:
        if way.name not in names or is_settled(case, way.name):
            continue
        if not case.file(way.base).exists():
            note_of(case, way.name).write_text(f"no '{way.base}' of it")
            continue
        note_of(case, way.name).write_text("its tool crashed or hung")
        make_one(case, way.name, lambda out, way=way: way.make(case, case.file(way.base), out))
        if case.file(way.name).exists():
            note_of(case, way.name).unlink()


def in_child(work, case: Case, *arguments):
    """Ends where no file has come into the folder for too long."""
    child = multiprocessing.get_context("fork").Process(target=work, args=(case, *arguments))
    child.start()
    begun = time.time()
    while child.is_alive():
        child.join(1)
        if time.time() - max(begun, case.folder.stat().st_mtime) > PATIENCE:
            child.kill()


def make(what: Architecture, ways: list[Way]) -> Case:
    """All files of an architecture that are missing."""
    case = Case(what, cache() / what.name, truth.samples(what.inputs))
    case.folder.mkdir(parents=True, exist_ok=True)
    wanted = {way.name for way in ways} | {way.base for way in ways if way.base != "original"}
    exported = [way.name for way in WAYS if isinstance(way.make, str) and way.name in wanted]
    if not all(is_settled(case, name) for name in ["original", *exported]):
        in_child(export_all, case)
    transformed = [way.name for way in WAYS if way.name in wanted and not isinstance(way.make, str)]
    while not all(is_settled(case, name) for name in transformed):
        before = sum(is_settled(case, name) for name in transformed)
        in_child(transform_all, case, transformed)
        if sum(is_settled(case, name) for name in transformed) == before:
            break
    return case
