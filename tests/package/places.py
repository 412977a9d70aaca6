"""Places where packages are tried: folders, virtual environments, and whole systems in folders (roots) made of their distribution's packages."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("RELAYOUT_PACKAGES", TOP / "build/package"))
PLAIN = TOP / "build/release/relayout"
MODEL = TOP / "testdata/resnet18_eighth/model.onnx"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayout/clean"


def one(pattern):
    found = sorted(OUT.glob(pattern))
    if not found:
        raise AssertionError(f"no {pattern} in {OUT}: cmake/dev package makes it")
    return found[-1]


def run(*words, **options):
    """What a command did; standard error and output as text."""
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **options)


def ran(*words, **options):
    done = run(*words, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words[0]} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


class Folder(unittest.TestCase):
    """A test with a folder of its own, in which the demo model lies."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="relayout-package-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        shutil.copy(MODEL, self.folder / "net.onnx")


def mirror_of(origin):
    """The mirror that this machine's apt has for a distribution; nothing when it has none."""
    given = os.environ.get(f"RELAYOUT_{origin.upper()}_MIRROR") or (origin == "Debian" and os.environ.get("RELAYOUT_MIRROR"))
    if given:
        return given
    listed = run("apt-get", "indextargets", "--format", "$(ORIGIN) $(SITE)", "Identifier: Packages").stdout.split("\n")
    return next((line.split()[1] for line in listed if line.startswith(origin + " ")), None)


class System:
    """A distribution's system in a folder; every command there has /proc, /dev and a /tmp of its own from which nothing can be started."""

    def __init__(self, name, suite, origin, include="python3-venv,python3-pip", variant="apt"):
        self.name, self.suite, self.origin, self.include, self.variant = name, suite, origin, include, variant
        self.archive = CACHE / f"{suite}-{variant}.tar"

    def why_not(self):
        """Why this system cannot be made here."""
        if os.geteuid() != 0:
            return "needs root: the system is entered with chroot"
        if self.archive.exists():
            return None
        if not shutil.which("mmdebstrap"):
            return "no mmdebstrap on this machine"
        if mirror_of(self.origin) is None:
            return f"this machine's apt has no mirror of {self.origin} (RELAYOUT_{self.origin.upper()}_MIRROR names one)"
        if self.origin == "Ubuntu" and not Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg").exists():
            return "this machine has no key of Ubuntu's archive"
        return None

    def make(self):
        CACHE.mkdir(parents=True, exist_ok=True)
        part = self.archive.with_suffix(".part.tar")
        drop = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale", "man")]
        mode = "chrootless" if self.variant == "extract" else "root"
        components = "main,universe" if self.origin == "Ubuntu" else "main"
        done = run("mmdebstrap", f"--variant={self.variant}", f"--mode={mode}", f"--components={components}", f"--include={self.include}", *drop,
                   self.suite, part, mirror_of(self.origin))
        if done.returncode != 0:
            raise unittest.SkipTest(f"{self.name} could not be made: {done.stderr.strip().splitlines()[-1]}")
        part.rename(self.archive)

    def unpack(self, folder):
        if not self.archive.exists():
            self.make()
        ran("tar", "-C", folder, "-xf", self.archive, "--exclude=./dev/*")
        (folder / "models").mkdir(exist_ok=True)
        shutil.copy(MODEL, folder / "models/net.onnx")
        for name in ("proc", "dev", "tmp"):
            (folder / name).mkdir(exist_ok=True)


def enter(folder, script, user=None, place="/models", **environment):
    """Runs a script by the system's shell, with as little around it as a login has."""
    inner = 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs -o noexec,mode=1777 tmpfs "$1/tmp" && '
    inner += 'root=$1; shift; exec chroot ' + (f"--userspec={user} " if user else "") + '"$root" "$@"'
    variables = [f"{name}={value}" for name, value in environment.items()]
    return run("unshare", "-m", "--propagation=private", "sh", "-c", inner, "enter", folder, "/usr/bin/env", "-i",
               "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TMPDIR=/tmp", *variables, "/bin/sh", "-ec",
               f"cd {place}\n{script}")


class Stopwatch:
    def __enter__(self):
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.begun
