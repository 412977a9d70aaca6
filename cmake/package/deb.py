"""The .deb for the system that the libraries come from: it depends on their packages instead of carrying them."""

import gzip
import re
import shutil
import time

from tree import BUILD, TOP, inside, needed_libraries, prepared, say, source_date

FOLDER = "usr/lib/x86_64-linux-gnu/relayout"
MAINTAINER = "the developers of relayout <relayout@localhost>"

CONTROL = """Package: relayout
Version: {version}
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {size}
Depends: {depends}
Section: science
Priority: optional
Description: ONNX models for channels-last inference, converted and verified
 relayout convert folds every BatchNormalization that it may into the
 convolution in front of it and stores convolution weights channels-last.
 .
 relayout verify runs both files on oneDNN with the same inputs and holds
 their difference against what rounding alone can explain.
"""

COPYRIGHT = """This is relayout, by its developers. Its sources carry no licence of their own yet.

Its program holds code of these packages, whose copyright files follow:
{compiled_in}
"""


def changes(version):
    """The section of README's changes that is this version's, as lines of text."""
    section = re.search(rf"^### {re.escape(version)}\n(.*?)(?=^##|\Z)", (TOP / "README.md").read_text(), re.M | re.S)
    return [line for line in (section[1].strip() if section else "Not released yet.").splitlines() if line.strip()]


def depends(root, files):
    """Packages of the libraries that the files themselves load, at least as new as these."""
    direct = set(re.findall(r"^\s+NEEDED\s+(\S+)$", inside("objdump", "-p", *files), re.M))
    packages = {root.package_of(name) for name in direct & set(needed_libraries(root, files))}
    return ", ".join(f"{name} (>= {re.split('[-+]', root.packages[name]['Version'])[0]})" for name in sorted(packages))


def deb_files(tree):
    stage = prepared(tree.root, "/lib64/ld-linux-x86-64.so.2", f"/{FOLDER}")
    program, module = stage / "relayout", stage / "librelayout_onednn.so"
    inside("patchelf", "--remove-rpath", module)  # what it loads is where the system looks
    needs = depends(tree.root, [program, module])
    files = {"usr/bin/relayout": (program.read_bytes(), 0o755), f"{FOLDER}/{module.name}": (module.read_bytes(), 0o644)}
    for path, entry in tree.files.items():
        if path.startswith("share/"):
            files["usr/" + path.replace("zsh/site-functions", "zsh/vendor-completions")] = entry
    compiled_in = "".join(f"\n----- {name}\n\n{tree.root.copyright_of(name).decode()}" for name in sorted(tree.used) if not tree.used[name])
    files["usr/share/doc/relayout/copyright"] = (COPYRIGHT.format(compiled_in=compiled_in).encode(), 0o644)
    stamp = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(source_date()))
    entries = "".join(f"  {line}\n" for line in changes(tree.version))
    changelog = f"relayout ({tree.version}) stable; urgency=medium\n\n  * {entries.strip()}\n\n -- {MAINTAINER}  {stamp}\n"
    files["usr/share/doc/relayout/changelog.gz"] = (gzip.compress(changelog.encode(), 9, mtime=0), 0o644)
    return files, needs


def make(tree, out):
    files, needs = deb_files(tree)
    folder = BUILD.parent / "package/deb"
    shutil.rmtree(folder, ignore_errors=True)
    for path, (content, mode) in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)
    size = sum(-(-len(content) // 1024) for content, _ in files.values())
    (folder / "DEBIAN").mkdir()
    control = CONTROL.format(version=tree.version, maintainer=MAINTAINER, size=size, depends=needs)
    (folder / "DEBIAN/control").write_text(control)
    for each in [folder, *folder.rglob("*")]:
        if each.is_dir():
            each.chmod(0o755)
    target = out / f"relayout_{tree.version}_amd64.deb"
    # dpkg-deb sets every later time back to SOURCE_DATE_EPOCH.
    inside("env", f"SOURCE_DATE_EPOCH={source_date()}", "dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, target)
    shutil.rmtree(folder)
    say(target, files)
