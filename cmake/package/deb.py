"""Two .debs: `relayout` for the system that the libraries come from depends on their packages; `relayout-bundled` carries them, for older
systems and other distributions of the family.
"""

import atexit
import gzip
import re
import shutil
import tempfile
import textwrap
import time
from pathlib import Path

from tree import BUILD, TOP, inside, needed_libraries, prepared, say, source_date

FOLDER = "usr/lib/x86_64-linux-gnu/relayout"
MAINTAINER = "the developers of relayout <relayout@localhost>"

CONTROL = """Package: {name}
Version: {version}
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {size}
{relations}Section: science
Priority: optional
Description: ONNX models for channels-last inference, converted and verified
 relayout convert folds every BatchNormalization that it may into the
 convolution in front of it and stores convolution weights channels-last.
 .
 relayout verify runs both files on oneDNN with the same inputs and holds
 their difference against what rounding alone can explain.
"""

COPYRIGHT = """This is relayout, by its developers. Its sources carry no licence of their own yet.

These packages are inside, as libraries or compiled in; their copyright files follow:
{packages}
"""


def changes(version):
    """The section of README's changes that is this version's, one text per entry."""
    section = re.search(rf"^### {re.escape(version)}\n(.*?)(?=^##|\Z)", (TOP / "README.md").read_text(), re.M | re.S)
    return re.findall(r"^- (.*(?:\n .*)*)", section[1], re.M) if section else ["Not released yet."]


def depends(root, files):
    """Packages of the libraries that the files themselves load, at least as new as these."""
    direct = set(re.findall(r"^\s+NEEDED\s+(\S+)$", inside("objdump", "-p", *files), re.M))
    packages = {root.package_of(name) for name in direct & set(needed_libraries(root, files))}
    return ", ".join(f"{name} (>= {re.split('[-+]', root.packages[name]['Version'])[0]})" for name in sorted(packages))


def own_files(tree):
    """The program as this system's packages serve it, and what it needs of them."""
    stage = prepared(tree.root, "/lib64/ld-linux-x86-64.so.2", f"/{FOLDER}")
    program, module = stage / "relayout", stage / "librelayout_onednn.so"
    inside("patchelf", "--remove-rpath", module)  # what it loads is where the system looks
    files = {"usr/bin/relayout": (program.read_bytes(), 0o755), f"{FOLDER}/{module.name}": (module.read_bytes(), 0o644)}
    return files, f"Depends: {depends(tree.root, [program, module])}\n"


def bundled_files(tree):
    """The tree as the tarball has it."""
    files = {"usr/" + path: entry for path, entry in tree.files.items() if path.startswith(("bin/", "lib/"))}
    files["usr/share/doc/relayout-bundled/relayout.cdx.json"] = (tree.sbom(), 0o644)
    return files, "Provides: relayout\nConflicts: relayout\nReplaces: relayout\n"


def add_documentation(tree, files, name, packages):
    for path, entry in tree.files.items():
        if path.startswith("share/"):
            files["usr/" + path.replace("zsh/site-functions", "zsh/vendor-completions")] = entry
    texts = "".join(f"\n----- {package}\n\n{tree.root.copyright_of(package).decode()}" for package in sorted(packages))
    files[f"usr/share/doc/{name}/copyright"] = (COPYRIGHT.format(packages=texts).encode(), 0o644)
    stamp = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(source_date()))
    entries = "\n".join(textwrap.fill(line, 76, initial_indent="  * ", subsequent_indent="    ") for line in changes(tree.version))
    changelog = f"{name} ({tree.version}) stable; urgency=medium\n\n{entries}\n\n -- {MAINTAINER}  {stamp}\n"
    files[f"usr/share/doc/{name}/changelog.gz"] = (gzip.compress(changelog.encode(), 9, mtime=0), 0o644)


def build(tree, out, name, files, relations):
    folder = Path(tempfile.mkdtemp(prefix="deb-", dir=BUILD))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path, (content, mode) in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)
    size = sum(-(-len(content) // 1024) for content, _ in files.values())
    (folder / "DEBIAN").mkdir()
    control = CONTROL.format(name=name, version=tree.version, maintainer=MAINTAINER, size=size, relations=relations)
    (folder / "DEBIAN/control").write_text(control)
    for each in [folder, *folder.rglob("*")]:
        if each.is_dir():
            each.chmod(0o755)
    target = out / f"{name}_{tree.version}_amd64.deb"
    # dpkg-deb sets every later time back to SOURCE_DATE_EPOCH.
    inside("env", f"SOURCE_DATE_EPOCH={source_date()}", "dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", folder, target)
    say(target, files)


def make(tree, out):
    files, relations = own_files(tree)
    add_documentation(tree, files, "relayout", [package for package in tree.used if not tree.used[package]])
    build(tree, out, "relayout", files, relations)
    files, relations = bundled_files(tree)
    add_documentation(tree, files, "relayout-bundled", tree.used)
    build(tree, out, "relayout-bundled", files, relations)
