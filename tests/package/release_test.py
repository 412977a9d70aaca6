"""What `cmake/dev release` refuses, and what the release that was made last consists of."""

import hashlib
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from places import TOP, ran, run

VERSION = re.search(r'"([^"]+)"', (TOP / "include/relayout/version.h").read_text())[1]


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="relayout-release-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        ran("git", "clone", "-q", "--depth", "1", f"file://{TOP}", self.folder / "sources")
        self.place = self.folder / "sources"

    def refusal(self, version):
        done = run(self.place / "cmake/dev", "release", version)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.place / "build").exists())
        return done.stderr

    def test_a_package_of_no_kind(self):
        done = run("python3", TOP / "cmake/package/build.py", "zip", self.folder / "out")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("no package 'zip': one of wheel, deb, tarball, image, action, gitlab, pre-commit or all", done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_each(self):
        self.assertIn("no version like", self.refusal("v1"))
        self.assertIn("version.h says", self.refusal("99.0.0"))
        (self.place / "new").touch()
        self.assertIn("not everything is committed", self.refusal(VERSION))
        readme = self.place / "README.md"
        readme.write_text(readme.read_text().replace(f"### {VERSION}\n", ""))
        self.assertIn("no section", self.refusal(VERSION))


class Made(unittest.TestCase):
    def test_checksums_cover_everything(self):
        out = TOP / f"build/release-{VERSION}"
        if not out.exists():
            self.skipTest(f"no build/release-{VERSION}: cmake/dev release makes it")
        listed = dict(reversed(line.split(None, 1)) for line in (out / "SHA256SUMS").read_text().splitlines())
        files = {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file() and path.name != "SHA256SUMS"}
        self.assertEqual(set(listed), set(files))
        for name, path in files.items():
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), listed[name], name)
        for kind in (".whl", ".deb", ".tar.xz", "action.yml", "verify.yml", ".pre-commit-hooks.yaml", "Dockerfile", "CHANGES.md"):
            self.assertTrue(any(name.endswith(kind) for name in files), kind)


if __name__ == "__main__":
    unittest.main()
