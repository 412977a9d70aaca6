"""The wheel: one for every Python 3.8 and newer on x86-64 Linux, whatever C library that has. The program comes with its own; there is no
compiled extension. The tags say how old a system may be that pip offers it to (glibc 2.17, musl 1.1): nothing of the system's is used.
"""

import base64
import hashlib
import time
import zipfile

from tree import HERE, say, source_date

TAG = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64"

METADATA = """Metadata-Version: 2.1
Name: relayout
Version: {version}
Summary: Convert ONNX models for channels-last inference and prove that they still compute the same
Keywords: onnx,channels-last,nhwc,verify,onednn
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""

WHEEL = "Wheel-Version: 1.0\nGenerator: relayout\nRoot-Is-Purelib: false\n{tags}"


def wheel_files(tree):
    """What is in the archive, in its order: the package, the command, then what describes them."""
    name = f"relayout-{tree.version}"
    files = {}
    for path in sorted((HERE / "python/relayout").iterdir()):
        if path.suffix in (".py", ".typed") or path.name == "py.typed":
            text = path.read_text().replace("@VERSION@", tree.version)
            files[f"relayout/{path.name}"] = (text.encode(), 0o644)
    for path, entry in tree.files.items():
        if path.startswith(("bin/", "lib/")):
            files[f"relayout/program-{tree.version}/{path}"] = entry
        elif path.startswith("licenses/"):
            files[f"{name}.dist-info/{path}"] = entry
    files[f"{name}.data/scripts/relayout"] = tree.files["bin/relayout"]
    for path in tree.files:
        if path.startswith(("share/man/", "share/bash-completion/", "share/fish/", "share/zsh/")):
            files[f"{name}.data/data/{path}"] = tree.files[path]
    interpreters, abi, platforms = TAG.split("-")
    tags = "".join(f"Tag: {interpreters}-{abi}-{platform}\n" for platform in platforms.split("."))
    description = (HERE / "python/README.md").read_text()
    files[f"{name}.dist-info/METADATA"] = (METADATA.format(version=tree.version, description=description).encode(), 0o644)
    files[f"{name}.dist-info/WHEEL"] = (WHEEL.format(tags=tags).encode(), 0o644)
    files[f"{name}.dist-info/sboms/relayout.cdx.json"] = (tree.sbom(), 0o644)
    return files


def record(files, path):
    lines = []
    for name, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{path},,\n"


def make(tree, out):
    files = wheel_files(tree)
    path = f"relayout-{tree.version}.dist-info/RECORD"
    files[path] = (record(files, path).encode(), 0o644)
    wheel = out / f"relayout-{tree.version}-{TAG}.whl"
    # The earliest time that an archive of this kind can hold is 1980.
    stamp = time.gmtime(max(source_date(), 315619200))[:6]
    part = wheel.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, stamp)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    part.rename(wheel)
    if wheel.stat().st_size > 30e6:
        raise SystemExit(f"{wheel.name} is larger than 30 MB")
    say(wheel, files)
