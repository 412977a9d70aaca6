"""oneDNN as wheel and tarball carry it: the distribution's own source of the version that the program is built with, compiled for inference with
the primitives that the program calls and without the graph library, which is less than half of the distribution's library. It is made once per
version, into the cache. RELAYOUT_ONEDNN=distribution takes the distribution's library as it is.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tree import fail, inside

# What src/exec/onednn calls, and whose kernels those call.
PRIMITIVES = "CONVOLUTION;DECONVOLUTION;MATMUL;SOFTMAX;LAYER_NORMALIZATION;REORDER"
# ONEDNN_ARCH_OPT_FLAGS is empty as in the distribution's build: the library runs on every x86-64 and chooses its kernels where it runs.
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_STANDARD=17", "-DCMAKE_DISABLE_FIND_PACKAGE_Git=ON", "-DONEDNN_ARCH_OPT_FLAGS=",
           "-DONEDNN_CPU_RUNTIME=OMP", "-DONEDNN_ENABLE_WORKLOAD=INFERENCE", f"-DONEDNN_ENABLE_PRIMITIVE={PRIMITIVES}",
           "-DONEDNN_EXPERIMENTAL_SPARSE=ON", "-DONEDNN_BUILD_GRAPH=OFF", "-DONEDNN_BUILD_TESTS=OFF", "-DONEDNN_BUILD_EXAMPLES=OFF"]
FLAGS = "-O2 -DNDEBUG -flto=auto -ffunction-sections -fdata-sections"
LINK_FLAGS = "-Wl,--gc-sections -Wl,--as-needed -Wl,--build-id=none"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relayout"


def name_of(root):
    """The library's name as programs ask for it."""
    return next(iter(sorted(path.name for path in root.libraries.glob("libdnnl.so.*.*") if path.is_symlink())))


def folder(root):
    version = root.packages[root.package_of(name_of(root))]["Version"]
    key = hashlib.sha256("\n".join([version, *OPTIONS, FLAGS, LINK_FLAGS]).encode()).hexdigest()[:12]
    return CACHE / f"onednn-{key}", version


def wanted():
    return os.environ.get("RELAYOUT_ONEDNN") != "distribution"


def made(root):
    """The library by its name where it has been made, else nothing: what Tree takes in place of the distribution's."""
    library = folder(root)[0] / name_of(root)
    return {library.name: library} if wanted() and library.is_file() else {}


def source_list(version, target):
    """What apt is asked for: the source package from the mirror that everything else comes from."""
    mirror = os.environ.get("RELAYOUT_MIRROR")
    if not mirror:
        fail(f"no Debian mirror to fetch oneDNN's source from: set RELAYOUT_MIRROR, or RELAYOUT_ONEDNN=distribution for the whole library")
    (target / "lists/partial").mkdir(parents=True)
    (target / "sources.list").write_text(f"deb-src {mirror} trixie main\n")
    return ["-o", f"Dir::Etc::sourcelist={target}/sources.list", "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={target}/lists",
            "-o", "APT::Sandbox::User=root"]


def fetched(version, target):
    """The unpacked source with the distribution's patches. apt holds what it fetches against the mirror's signed lists."""
    where = source_list(version, target)
    for command in (["apt-get", *where, "update"], ["apt-get", *where, "source", f"onednn={version}"]):
        done = subprocess.run(command, cwd=target, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode != 0:
            last = ([line for line in done.stdout.splitlines() if line.startswith("E:")] or ["E: it ended early"])[-1]
            fail(f"could not fetch oneDNN's source: {last[3:]} (RELAYOUT_ONEDNN=distribution packs the whole library instead)")
    return next(path for path in target.iterdir() if path.is_dir() and (path / "debian").is_dir())


def build(version, part):
    """Configures and compiles in a folder; the library there."""
    source = fetched(version, part)
    # Paths in the library name the source as if it lay here: the same bytes from any folder.
    flags = f"{FLAGS} -ffile-prefix-map={part}=."
    inside("cmake", "-G", "Ninja", "-S", source, "-B", part / "build", f"-DCMAKE_CXX_FLAGS_RELEASE={flags}",
           f"-DCMAKE_SHARED_LINKER_FLAGS={LINK_FLAGS}", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", *OPTIONS)
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    inside("ninja", *quiet, "-C", part / "build", "-j", os.environ.get("RELAYOUT_JOBS") or len(os.sched_getaffinity(0)), shown=True)
    return part / "build/src"


def make(root):
    """As made(), after making it where it is not in the cache yet."""
    found = made(root)
    if found or not wanted():
        return found
    if not shutil.which("dpkg-source"):
        fail("needs dpkg-source to unpack oneDNN's source (package dpkg-dev); RELAYOUT_ONEDNN=distribution packs the whole library instead")
    target, version = folder(root)
    print(f"cmake/package: building oneDNN {version} with what is called of it, once, in {target} (some 20 minutes)", flush=True)
    part, kept = target.with_suffix(".part"), target.with_suffix(".kept")
    for place in (part, kept):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    library = kept / name_of(root)
    shutil.copy(build(version, part) / library.name, library)
    inside("strip", "--strip-all", "--remove-section=.comment", library)
    kept.rename(target)
    shutil.rmtree(part)
    return made(root)
