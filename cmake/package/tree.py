"""What every package of relayout carries: the built program with its loader, its C library and its libraries, the licences of all of it and a
list of its parts (SBOM), as one mapping from path to content. Everything in it follows from the build: the same build gives the same bytes.
"""

import atexit
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build" / "release"
HERE = Path(__file__).resolve().parent
LOADER = "ld-linux-x86-64.so.2"

# Libraries of which the compiled program holds code although it loads none of them.
COMPILED_IN = ("libcli11-dev", "nlohmann-json3-dev", "libspdlog-dev", "libstb-dev", "libtomlplusplus-dev")
# Packages that are not named after their library, as Debian's policy (8.1) would have it.
PACKAGES = {"libc": "libc6", "libm": "libc6", "ld-linux-x86-64": "libc6", "libz": "zlib1g", "libonnx_proto": "libonnx1"}


def fail(message):
    raise SystemExit(f"cmake/package: {message}")


def version():
    """The one place that says it is the header."""
    return re.search(r'kVersion\[\] = "([^"]+)"', (TOP / "include/relayout/version.h").read_text())[1]


def source_date():
    """Seconds that stand in place of every time: SOURCE_DATE_EPOCH, else that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given or not shutil.which("git"):
        return int(given or 315619200)
    done = subprocess.run(["git", "-C", TOP, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return int(done.stdout) if done.returncode == 0 and done.stdout else 315619200


def build_root():
    """The folder that the libraries come from; the system itself when nothing else."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    found = re.search(r"^RELAYOUT_BUILD_ROOT:\w+=(.+)$", cache, re.M)
    return Path(found[1]) if found else Path("/")


def inside(*command, shown=False):
    """Runs a tool where the build happens and gives back what it prints unless it is shown; RELAYOUT_INSIDE says that this is there already."""
    way_in = [] if os.environ.get("RELAYOUT_INSIDE") else [TOP / "cmake/dev", "shell"]
    done = subprocess.run([*way_in, *map(str, command)], stdout=None if shown else subprocess.PIPE, text=True, cwd=TOP)
    if done.returncode != 0:
        fail(f"{command[0]} failed")
    return done.stdout


class Root:
    """The packages of the build root and what is known of them."""

    def __init__(self):
        self.folder = build_root()
        self.libraries = self.folder / "usr/lib/x86_64-linux-gnu"
        status = (self.folder / "var/lib/dpkg/status").read_text(errors="replace")
        self.packages = {}
        for paragraph in status.split("\n\n"):
            fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.M))
            if "Package" in fields:
                self.packages[fields["Package"]] = fields

    def package_of(self, library):
        """The package of a library by its file name: libdnnl.so.3.6 is in libdnnl3.6, libgcc_s.so.1 in libgcc-s1."""
        stem, _, number = library.partition(".so.")
        name = PACKAGES.get(stem) or stem.replace("_", "-") + ("-" if stem[-1].isdigit() else "") + number
        for candidate in (name, name + "t64"):
            if candidate in self.packages:
                return candidate
        fail(f"no package '{name}' in the build root: whose is {library}?")

    def source_of(self, package):
        return self.packages[package].get("Source", package).split()[0]

    def copyright_of(self, package):
        """Its own file, or that of a package made of the same sources."""
        same = [name for name in self.packages if self.source_of(name) == self.source_of(package)]
        for name in [package, *sorted(same)]:
            path = self.folder / "usr/share/doc" / name / "copyright"
            if path.is_file():
                return path.read_bytes()
        fail(f"no copyright file of {package} in {self.folder}")

    def common_license(self, name):
        return (self.folder / "usr/share/common-licenses" / name).read_bytes()


def needed_libraries(root, files, own=None):
    """Names of all shared libraries that the files load, theirs included, and where each lies; own ones (by name) before the root's."""
    found, wanted = {}, list(files)
    while wanted:
        printed = inside("objdump", "-p", *wanted)
        names = set(re.findall(r"^\s+NEEDED\s+(\S+)$", printed, re.M)) - set(found)
        for name in names:
            found[name] = (own or {}).get(name, root.libraries / name)
            if not found[name].exists():
                fail(f"{name} is not in {root.libraries}")
        wanted = [found[name] for name in sorted(names)]
    return found


def prepared(root, interpreter, run_path):
    """Program and module without what only the build tree needs: symbols, the paths of its loader and its libraries."""
    stage = Path(tempfile.mkdtemp(prefix="stage-", dir=BUILD))
    atexit.register(shutil.rmtree, stage, ignore_errors=True)
    for source, program in ((BUILD / "relayout", True), (BUILD / "lib/librelayout_onednn.so", False)):
        target = stage / source.name
        shutil.copy(source, target)
        inside("strip", "--strip-all", "--remove-section=.comment", target)
        # The old kind of run path holds for the libraries' own libraries too, and stands before LD_LIBRARY_PATH.
        inside("patchelf", "--force-rpath", "--set-rpath", run_path, target)
        if program:
            inside("patchelf", "--set-interpreter", interpreter, target)
        if str(root.folder) != "/" and str(root.folder).encode() in target.read_bytes():
            fail(f"{target.name} still names {root.folder}")
    return stage


class Tree:
    """Paths below a prefix, each with content and mode; made once, written by each kind of package in its own form."""

    def __init__(self, root, own):
        self.files = {}
        self.root = root
        self.own = own  # libraries made of the distribution's sources, by name
        self.version = version()
        self.used = {}  # package: files of it that are inside

    def add(self, path, content, mode=0o644):
        self.files[path] = (content, mode)

    def add_program(self):
        stage = prepared(self.root, f"/lib64/{LOADER}", "$ORIGIN")
        built = [stage / "relayout", stage / "librelayout_onednn.so"]
        libraries = needed_libraries(self.root, built, self.own)
        libraries.setdefault(LOADER, self.root.libraries / LOADER)
        for name, path in sorted(libraries.items()):
            self.add(f"lib/relayout/{name}", path.resolve().read_bytes(), 0o755 if name == LOADER else 0o644)
            self.used.setdefault(self.root.package_of(name), []).append(name)
        for path in built:
            self.add(f"lib/relayout/{path.name}", path.read_bytes(), 0o755 if path.name == "relayout" else 0o644)
        text = (HERE / "launcher.sh").read_text().replace("@VERSION@", self.version).replace("@LOADER@", LOADER)
        self.add("bin/relayout", text.encode(), 0o755)

    def add_compiled_in(self):
        for package in COMPILED_IN:
            self.used.setdefault(package, [])

    def add_licenses(self, folder):
        texts = {}
        for package in sorted(self.used):
            texts[package] = self.root.copyright_of(package)
            self.add(f"{folder}/{package}.copyright", texts[package])
        common = set(re.findall(rb"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", b"\n".join(texts.values())))
        for name in sorted(common):
            self.add(f"{folder}/{name.decode()}.txt", self.root.common_license(name.decode()))

    def add_manual(self):
        for page in sorted((BUILD / "man").iterdir()):
            self.add(f"share/man/man{page.suffix[1:]}/{page.name}.gz", gzip.compress(page.read_bytes(), 9, mtime=0))
        completions = TOP / "cmake/completions"
        self.add("share/bash-completion/completions/relayout", (completions / "relayout.bash").read_bytes())
        self.add("share/fish/vendor_completions.d/relayout.fish", (completions / "relayout.fish").read_bytes())
        self.add("share/zsh/site-functions/_relayout", (completions / "_relayout").read_bytes())

    def licenses_of(self, package):
        """The short names of a machine-readable copyright file; of another one, where to read it."""
        text = self.root.copyright_of(package).decode(errors="replace")
        names = dict.fromkeys(name.strip() for name in re.findall(r"^License: *(\S.*)$", text, re.M)) if "Format:" in text[:400] else {}
        return list(names) or [f"see {package}.copyright"]

    def component(self, package):
        fields = self.root.packages[package]
        purl = f"pkg:deb/debian/{package}@{fields['Version']}?arch={fields['Architecture']}&distro=trixie".replace("+", "%2B").replace("~", "%7E")
        properties = [{"name": "file", "value": name} for name in sorted(self.used[package])]
        if any(name in self.own for name in self.used[package]):
            properties.append({"name": "compiled from", "value": f"source package {self.root.source_of(package)} {fields['Version']}"})
        out = {"type": "library", "bom-ref": purl, "name": package, "version": fields["Version"], "purl": purl,
               "licenses": [{"license": {"name": name}} for name in self.licenses_of(package)],
               "properties": properties or [{"name": "compiled in", "value": "yes"}]}
        if "Homepage" in fields:
            out["externalReferences"] = [{"type": "website", "url": fields["Homepage"]}]
        return out

    def sbom(self):
        """CycloneDX 1.5: every package of which something is inside, and the digest of every file."""
        components = [self.component(package) for package in sorted(self.used)]
        digests = {path: hashlib.sha256(content).hexdigest() for path, (content, _) in sorted(self.files.items())}
        reference = f"pkg:generic/relayout@{self.version}"
        files = [{"type": "file", "bom-ref": path, "name": path, "hashes": [{"alg": "SHA-256", "content": digest}]}
                 for path, digest in digests.items() if path.startswith("lib/")]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(source_date()))
        body = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(digests))}",
                "metadata": {"timestamp": stamp, "component": {"type": "application", "bom-ref": reference, "name": "relayout",
                                                               "version": self.version}},
                "components": components + files,
                "dependencies": [{"ref": reference, "dependsOn": [one["bom-ref"] for one in components]}]}
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()


def complete(root, own):
    """The tree as packages carry it, with these libraries in place of the root's."""
    tree = Tree(root, own)
    tree.add_program()
    tree.add_compiled_in()
    tree.add_licenses("licenses")
    tree.add_manual()
    return tree


def sizes(files):
    """Bytes unpacked, and the five largest parts."""
    by_size = sorted(((len(content), path) for path, (content, _) in files.items()), reverse=True)
    return sum(size for size, _ in by_size), by_size[:5]


def say(path, files):
    total, largest = sizes(files)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    parts = ", ".join(f"{name.rsplit('/', 1)[1]} {size / 1e6:.1f}" for size, name in largest)
    print(f"{os.path.relpath(path, TOP)}  {path.stat().st_size / 1e6:.1f} MB, unpacked {total / 1e6:.1f} MB ({parts})  sha256 {digest}")
