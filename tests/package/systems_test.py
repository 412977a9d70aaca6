"""Wheel, tarball, .deb and the image's recipe in systems of several distributions and ages, each fresh out of its archive."""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from places import OUT, TOP, Stopwatch, System, enter, one

USE = """
relayout convert net.onnx -o net.cl.onnx
relayout verify net.onnx net.cl.onnx | tail -1
mkdir -p tree/demo && cp net.onnx tree/demo/model.onnx
relayout verify net.onnx net.cl.onnx --save-data tree/demo >/dev/null
relayout verify --suite tree
"""


class Systems(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="relayout-system-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def unpacked(self, system):
        why = system.why_not()
        if why:
            self.skipTest(f"{system.name}: {why}")
        system.unpack(self.folder)
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf") if (self.folder / "etc").is_dir() else None

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\nsame  .*exit 0")
        self.assertIn("1 of 1 case passed", done.stdout)

    def wheel(self, system):
        self.unpacked(system)
        shutil.copy(one("*.whl"), self.folder / "models")
        done = enter(self.folder, "python3 -m venv /opt/venv; /opt/venv/bin/pip --version")
        self.assertEqual(done.returncode, 0, done.stderr)
        with Stopwatch() as watch:
            first = enter(self.folder, "/opt/venv/bin/pip install --quiet --no-index *.whl; /opt/venv/bin/relayout convert net.onnx -o first.onnx")
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        print(f"{system.name}: pip install and first conversion in {watch.seconds:.1f} s ({' '.join(done.stdout.split()[:2])})")
        self.check(enter(self.folder, "PATH=/opt/venv/bin:$PATH\n" + USE))

    def tarball(self, system):
        """By a user without rights, into the home folder."""
        self.unpacked(system)
        shutil.unpack_archive(one("*.tar.xz"), self.folder / "models")
        script = "mkdir -p /home/user; chmod 777 /home/user . ; true"
        self.assertEqual(enter(self.folder, script).returncode, 0)
        install = "HOME=/home/user; relayout-*/install.sh; PATH=/home/user/.local/bin:$PATH\n"
        self.check(enter(self.folder, install + USE, user="1000:1000"))
        gone = enter(self.folder, "HOME=/home/user; relayout-*/install.sh --uninstall; find /home/user/.local -type f", user="1000:1000")
        self.assertEqual(gone.stdout.splitlines()[1:], [], gone.stderr)

    def test_wheel_debian_11(self):
        self.wheel(System("Debian 11", "bullseye", "Debian"))

    def test_wheel_debian_12(self):
        self.wheel(System("Debian 12", "bookworm", "Debian"))

    def test_wheel_debian_13(self):
        self.wheel(System("Debian 13", "trixie", "Debian"))

    def test_wheel_ubuntu_22_04(self):
        self.wheel(System("Ubuntu 22.04", "jammy", "Ubuntu"))

    def test_wheel_ubuntu_24_04(self):
        self.wheel(System("Ubuntu 24.04", "noble", "Ubuntu"))

    def test_tarball_debian_11(self):
        self.tarball(System("Debian 11", "bullseye", "Debian"))

    def test_tarball_ubuntu_24_04(self):
        self.tarball(System("Ubuntu 24.04", "noble", "Ubuntu"))

    def test_tarball_without_glibc(self):
        """A system of musl and busybox alone, as Alpine's base is: no file of glibc, no other shell."""
        system = System("musl and busybox", "bookworm", "Debian", include="busybox-static,musl", variant="extract")
        self.unpacked(system)
        for path in ("bin", "sbin", "etc", "root", "home/user"):
            (self.folder / path).mkdir(parents=True, exist_ok=True)
        busybox = next(path for path in (self.folder / "bin/busybox", self.folder / "usr/bin/busybox") if path.exists())
        for name in ("sh", "env", "id", "dirname", "readlink", "find", "rm", "cp", "mkdir", "tail", "chmod", "true", "cat"):
            for folder in ("bin", "usr/bin"):
                link = self.folder / folder / name
                link.parent.mkdir(parents=True, exist_ok=True)
                if not link.exists():
                    link.symlink_to("/" + str(busybox.relative_to(self.folder)))
        self.assertEqual([path for path in self.folder.rglob("*") if path.name.startswith(("ld-linux", "libc.so.6"))], [])
        shutil.unpack_archive(one("*.tar.xz"), self.folder / "models")
        install = "HOME=/home/user; relayout-*/install.sh; PATH=$HOME/.local/bin:/usr/local/bin:$PATH\n"
        self.check(enter(self.folder, install + USE))

    def test_deb_debian_13(self):
        self.unpacked(System("Debian 13", "trixie", "Debian"))
        shutil.copy(one("*.deb"), self.folder / "models")
        with Stopwatch() as watch:
            done = enter(self.folder, "apt-get update -q && apt-get install -qy --no-install-recommends ./*.deb", DEBIAN_FRONTEND="noninteractive")
        if done.returncode != 0 and "Unable to locate" not in done.stderr and "ould not resolve" in done.stderr:
            self.skipTest("Debian 13: the mirror does not answer")
        self.assertEqual(done.returncode, 0, done.stdout[-1500:] + done.stderr[-1500:])
        print(f"Debian 13: apt install of the .deb with what it depends on in {watch.seconds:.1f} s")
        print("  " + next((line for line in done.stdout.splitlines() if "disk space" in line), ""))
        self.check(enter(self.folder, USE))
        # These roots are made without documentation.
        verified = [line for line in enter(self.folder, "dpkg --verify relayout").stdout.splitlines() if "/usr/share/" not in line]
        self.assertEqual(verified, [])
        removed = enter(self.folder, "dpkg -r relayout >/dev/null; command -v relayout")
        self.assertNotEqual(removed.returncode, 0)

    def test_image_recipe(self):
        """The lines of the Dockerfile, by hand: this machine need not have anything that builds images."""
        self.unpacked(System("Debian 13", "trixie", "Debian"))
        recipe = (OUT / "image/Dockerfile").read_text().replace("\\\n", " ")
        lines = [line.split(None, 1) for line in recipe.splitlines() if line and not line.startswith("#")]
        words = {key: value for key, value in lines}
        self.assertEqual(words["FROM"], "debian:13-slim")
        shutil.rmtree(self.folder / "models")
        (self.folder / "opt").mkdir(exist_ok=True)
        before = size_of(self.folder)
        pattern, target = words["ADD"].split()
        shutil.unpack_archive(one(f"image/{pattern}"), self.folder / target.strip("/"))  # as ADD does with an archive
        done = enter(self.folder, words["RUN"], place="/")
        self.assertEqual(done.returncode, 0, done.stdout[-1500:] + done.stderr[-1500:])
        above = (size_of(self.folder) - before) / 1e6
        print(f"image: {above:.1f} MB above its base")
        self.assertLess(above, 60 if "RELAYOUT_ONEDNN" not in os.environ else 80)
        self.assertNotIn(words["USER"].split(":")[0], ("root", "0"))
        shutil.copy(TOP / "testdata/resnet18_eighth/model.onnx", self.folder / "models/net.onnx")
        entry = re.findall(r'"([^"]+)"', words["ENTRYPOINT"])[0]
        used = f"{entry} convert net.onnx && {entry} verify net.onnx net.cl.onnx && id -u"
        inspected = enter(self.folder, used, user=words["USER"], place=words["WORKDIR"])
        self.assertEqual(inspected.returncode, 0, inspected.stderr)
        self.assertIn("\n1000\n", inspected.stdout)


def size_of(folder):
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    unittest.main()
