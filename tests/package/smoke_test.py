"""The tree that wheel and tarball carry, put together as pip would lay it out and used once: fast enough for every run of the tests."""

import os
import sys
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "cmake/package"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import onednn  # noqa: E402
import places  # noqa: E402
import tarball  # noqa: E402
import tree  # noqa: E402
import wheel  # noqa: E402


class Smoke(places.Folder):
    def test_installed_tree(self):
        root = tree.Root()
        made = tree.complete(root, onednn.made(root))  # the distribution's oneDNN where the smaller one was not made yet
        scheme = {"scripts": "bin", "data": ""}
        for path, (content, mode) in wheel.wheel_files(made).items():
            data, _, rest = path.partition(".data/")
            kind, _, name = rest.partition("/")
            target = self.folder / "prefix" / (Path(scheme[kind]) / name if rest else Path("lib/python3.9/site-packages") / path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(mode)
        program = self.folder / "prefix/bin/relayout"
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/nonexistent"}
        places.ran(program, "convert", "net.onnx", cwd=self.folder, env=environment)
        self.assertIn("\nsame ", places.ran(program, "verify", "net.onnx", "net.cl.onnx", cwd=self.folder, env=environment))
        self.assertIn("1 of 1 case passed", places.ran(program, "verify", "--suite", TOP / "testdata", env=environment))
        script = "import relayout; assert relayout.verify('net.onnx', 'net.cl.onnx')['verdict'] == 'same'"
        paths = dict(environment, PYTHONPATH=str(self.folder / "prefix/lib/python3.9/site-packages"), PYTHONDONTWRITEBYTECODE="1")
        places.ran(sys.executable, "-c", script, cwd=self.folder, env=paths)
        self.assertIn("install.sh", tarball.tarball_files(made))


if __name__ == "__main__":
    unittest.main()
