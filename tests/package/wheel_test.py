"""The wheel, installed and used as its users would: by every Python of this machine, moved, read-only, in folders with odd names."""

import glob
import json
import os
import shutil
import stat
import statistics
import subprocess
import sys
import time
import unittest
import zipfile
from pathlib import Path

from places import OUT, PLAIN, TOP, Folder, Stopwatch, one, ran, run

API = """
import sys, pickle, relayout
report = relayout.convert("net.onnx", "net.cl.onnx", exclude=["/layer4/*"])
assert report["written"] and relayout.inspect("net.cl.onnx")["op_counts"]["BatchNormalization"] == 5
report = relayout.verify("net.onnx", "net.cl.onnx", samples=2, seed=7, layers=None, run_identical=False)
assert report["verdict"] == "same" and report["options"]["samples"] == 2 and report["options"]["seed"] == 7
assert relayout.inspect("net.onnx")["op_counts"]["Conv"] == 20
report = relayout.convert("net.onnx", "unfolded.onnx", fold=False, layout="keep")
assert relayout.inspect("unfolded.onnx")["op_counts"]["BatchNormalization"] == 20
try:
    relayout.verify("net.onnx", "text.onnx")
except relayout.Error as error:
    assert error.exit_code == 3 and "text.onnx" in str(error), error
    assert pickle.loads(pickle.dumps(error)).exit_code == 3
else:
    raise AssertionError("no Error")
try:
    relayout.convert("net.onnx", "strict.onnx", exclude=[], no_such_option=1)
except relayout.Error as error:
    assert error.exit_code == 2, error
else:
    raise AssertionError("no Error")
"""


def pythons():
    """Every Python 3.8 or newer of this machine, one per minor version."""
    found = {}
    for path in [sys.executable, *sorted(glob.glob("/usr/bin/python3.*")), *sorted(glob.glob(str(Path.home() / ".pyenv/versions/*/bin/python3")))]:
        done = run(path, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])")
        if done.returncode == 0 and tuple(map(int, done.stdout.strip().split("."))) >= (3, 8):
            found.setdefault(done.stdout.strip(), path)
    return found


def install(python, folder):
    """A fresh environment with the wheel."""
    ran(python, "-m", "venv", folder)
    ran(folder / "bin/pip", "install", "--quiet", "--no-index", "--no-cache-dir", one("*.whl"))
    return folder / "bin"


class WheelEverywhere(Folder):
    def test_every_python(self):
        (self.folder / "text.onnx").write_text("no model")
        for version, python in sorted(pythons().items()):
            with self.subTest(python=version):
                place = self.folder / version
                with Stopwatch() as watch:
                    scripts = install(python, place)
                    ran(scripts / "relayout", "convert", "net.onnx", "-o", f"{version}.onnx", cwd=self.folder)
                print(f"Python {version}: venv, pip install and first conversion in {watch.seconds:.1f} s")
                ran(scripts / "python", "-c", API, cwd=self.folder)
                self.assertIn('"version"', ran(scripts / "python", "-m", "relayout", "--version", "--json"))
                shutil.rmtree(place)


class WheelInPlaces(Folder):
    def check(self, program, **options):
        """Everything that starts another process or loads a library later."""
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.folder / "decoy"), **options)
        ran(program, "convert", "net.onnx", "-o", "net.cl.onnx", cwd=self.folder, env=environment)
        self.assertIn("\nsame ", ran(program, "verify", "net.onnx", "net.cl.onnx", cwd=self.folder, env=environment))
        self.assertIn("1 of 1 case passed", ran(program, "verify", "--suite", TOP / "testdata", cwd=self.folder, env=environment))

    def test_moved_linked_read_only_and_oddly_named(self):
        # A library that the loader would take from LD_LIBRARY_PATH: loading it fails.
        (self.folder / "decoy").mkdir()
        (self.folder / "decoy/libstdc++.so.6").write_text("not a library")
        install(sys.executable, self.folder / "first")
        place = self.folder / "ä b:c;'d"
        (self.folder / "first").rename(place)
        self.check(place / "bin/relayout")
        link = self.folder / "relayout"
        link.symlink_to(place / "bin/relayout")
        self.check(link)
        self.check("./relayout")
        for path in [place, *place.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        self.check(place / "bin/relayout")
        api = "import relayout; assert relayout.verify('net.onnx', 'net.cl.onnx')['verdict'] == 'same'"
        ran(place / "bin/python", "-c", api, cwd=self.folder, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))

    def test_into_one_folder(self):
        target = self.folder / "target"
        ran(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", target, one("*.whl"))
        self.check(target / "bin/relayout")
        ran(sys.executable, "-c", "import relayout; relayout.inspect('net.onnx')", cwd=self.folder, env=dict(os.environ, PYTHONPATH=str(target)))

    def test_for_one_user(self):
        home = self.folder / "home"
        home.mkdir()
        environment = dict(os.environ, HOME=str(home), PYTHONUSERBASE=str(home / ".local"))
        ran(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--user", "--break-system-packages", one("*.whl"), env=environment)
        self.check(home / ".local/bin/relayout")

    def test_environment_of_children_is_untouched(self):
        scripts = install(sys.executable, self.folder / "venv")
        self.assertNotIn("export", (scripts / "relayout").read_text())
        # A case of a suite is a child of the program: it has the environment of the program.
        environment = {"PATH": os.environ["PATH"], "A": "1"}
        ran("strace", "-V") if shutil.which("strace") else self.skipTest("no strace on this machine")
        log = self.folder / "log"
        ran("strace", "-f", "-v", "-s", "4000", "-e", "trace=execve", "-o", log, scripts / "relayout", "verify", "--suite", TOP / "testdata",
            env=environment)
        for line in log.read_text().splitlines():
            if "execve(" in line and line.endswith("= 0"):
                self.assertNotIn("LD_LIBRARY_PATH", line)

    def test_missing_tree_is_said(self):
        scripts = install(sys.executable, self.folder / "venv")
        shutil.copy(scripts / "relayout", self.folder / "alone")
        done = run(self.folder / "alone", "--version")
        self.assertEqual(done.returncode, 5)
        self.assertIn("not where it was installed", done.stderr)

    def test_tags_are_taken_by_musl_and_glibc(self):
        for platform in ("musllinux_1_1_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"):
            for python in ("38", "313"):
                words = ["--platform", platform, "--python-version", python, "--only-binary=:all:", "--no-index", "--find-links", OUT]
                ran(sys.executable, "-m", "pip", "download", "--quiet", "--dest", self.folder / platform / python, *words, "relayout")


class WheelInside(unittest.TestCase):
    def test_contents(self):
        with zipfile.ZipFile(one("*.whl")) as archive:
            self.assertIsNone(archive.testzip())
            names = archive.namelist()
            sbom = json.loads(archive.read(next(name for name in names if name.endswith(".cdx.json"))))
            everything = b"".join(archive.read(name) for name in names)
        self.assertLessEqual(one("*.whl").stat().st_size, 30e6)
        carried = {name.rsplit("/", 1)[1] for name in names if "/lib/relayout/" in name} - {"relayout", "librelayout_onednn.so"}
        listed = {entry["value"] for part in sbom["components"] for entry in part.get("properties", []) if entry["name"] == "file"}
        self.assertEqual(carried, listed)
        for part in sbom["components"]:
            if part["type"] == "library":
                self.assertTrue(any(name.endswith(f"licenses/{part['name']}.copyright") for name in names), part["name"])
        for path in (str(TOP), str(Path.home() / ".cache")):
            self.assertNotIn(path.encode(), everything)

    def test_same_bytes_again(self):
        again = Path(os.environ.get("TMPDIR", "/tmp")) / f"relayout-again-{os.getpid()}"
        try:
            ran(sys.executable, TOP / "cmake/package/build.py", "wheel", again)
            self.assertEqual(next(again.glob("*.whl")).read_bytes(), one("*.whl").read_bytes())
        finally:
            shutil.rmtree(again, ignore_errors=True)


def without_times(value):
    """A report without what differs between two runs of one program."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if "second" not in key}
    return [without_times(one) for one in value] if isinstance(value, list) else value


class WheelComputes(Folder):
    """The wheel's oneDNN is compiled of the same source as the plain program's, but with fewer kernels: those that run are the same."""

    def check(self, installed, model, environment):
        ran(PLAIN, "convert", model, "-o", "converted.onnx", "-q", cwd=self.folder)
        verdicts, kernels = [], []
        for program in (PLAIN, installed):
            words = ["verify", model, "converted.onnx", "--run-identical", "--json"]
            verdicts.append(without_times(json.loads(ran(program, *words, cwd=self.folder, env=environment))))
            rows = json.loads(ran(program, "profile", "converted.onnx", "--repeat", 2, "--json", cwd=self.folder, env=environment))["rows"]
            kernels.append(sorted((row["node"], row["implementation"]) for row in rows))
        self.assertEqual(verdicts[0], verdicts[1])
        self.assertEqual(kernels[0], kernels[1])

    def test_same_kernels_and_same_numbers(self):
        installed = install(sys.executable, self.folder / "venv") / "relayout"
        models = Path(os.environ.get("RELAYOUT_MODELS") or Path.home() / ".cache/relayout/models")
        for path in ["net.onnx", *(models / name / "model.onnx" for name in ("mobilenet_v2", "shufflenet_v2_x0_5", "resnext50_32x4d", "unet3d"))]:
            if path != "net.onnx" and not path.exists():
                print(f"{path}: not made, skipped")
                continue
            for isa in ("ALL", "AVX2", "SSE41"):
                with self.subTest(model=str(path), isa=isa):
                    self.check(installed, path, dict(os.environ, ONEDNN_MAX_CPU_ISA=isa))


class WheelTimes(Folder):
    def paired(self, installed, *arguments, rounds):
        """Medians of the installed and the plain program, in turns; and of the differences of each turn."""
        times = {installed: [], PLAIN: []}
        for turn in range(rounds + 1):
            for program in (installed, PLAIN) if turn % 2 else (PLAIN, installed):
                begun = time.perf_counter()
                subprocess.run([program, *map(str, arguments)], stdout=subprocess.DEVNULL, check=True, cwd=self.folder)
                times[program].append(time.perf_counter() - begun)
        ours, plain = times[installed][1:], times[PLAIN][1:]
        ratio = statistics.median(a / b for a, b in zip(ours, plain))
        return statistics.median(ours), statistics.median(plain), statistics.median(a - b for a, b in zip(ours, plain)), ratio

    def test_against_the_plain_program(self):
        installed = install(sys.executable, self.folder / "venv") / "relayout"
        ran(PLAIN, "convert", "net.onnx", cwd=self.folder)
        models = Path(os.environ.get("RELAYOUT_MODELS") or Path.home() / ".cache/relayout/models")
        large = models / "resnet50/model.onnx"
        work = [("--version", ["--version"], 60), ("verify of the demo model", ["verify", "net.onnx", "net.cl.onnx"], 20)]
        if large.exists():
            work.append(("convert of resnet50", ["convert", large, "-o", "large.onnx"], 20))
        for name, arguments, rounds in work:
            ours, plain, difference, ratio = self.paired(installed, *arguments, rounds=rounds)
            print(f"{name}: installed {1e3 * ours:.1f} ms, plain {1e3 * plain:.1f} ms, difference {1e3 * difference:+.1f} ms, ratio {ratio:.3f}")
        ours, plain, difference, ratio = self.paired(installed, "--version", rounds=10)
        self.assertLess(difference, 0.1, "starting takes far longer than the plain program")


if __name__ == "__main__":
    unittest.main()
