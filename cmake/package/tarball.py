"""The tarball: the tree with its own libraries and an install.sh, for any x86-64 Linux with a shell. It also runs where it was unpacked."""

import io
import lzma
import tarfile

from tree import HERE, LOADER, say, sizes, source_date


def tarball_files(tree):
    files = {"install.sh": ((HERE / "install.sh").read_text().replace("@LOADER@", LOADER).encode(), 0o755)}
    for path, entry in tree.files.items():
        files[path.replace("licenses/", "share/doc/relayout/licenses/", 1) if path.startswith("licenses/") else path] = entry
    files["share/doc/relayout/relayout.cdx.json"] = (tree.sbom(), 0o644)
    return files


def entry_of(name, kind, mode, size):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.mtime = kind, mode, size, source_date()
    entry.uname = entry.gname = "root"
    return entry


def name_of(tree):
    return f"relayout-{tree.version}-x86_64-linux.tar.xz"


def make(tree, out):
    name = name_of(tree).rsplit(".tar", 1)[0]
    files = tarball_files(tree)
    folders = sorted({str(parent) for path in files for parent in _parents(f"{name}/{path}")})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder in folders:
            archive.addfile(entry_of(folder, tarfile.DIRTYPE, 0o755, 0))
        for path, (content, mode) in sorted(files.items()):
            archive.addfile(entry_of(f"{name}/{path}", tarfile.REGTYPE, mode, len(content)), io.BytesIO(content))
    target = out / name_of(tree)
    target.write_bytes(lzma.compress(packed.getvalue(), preset=6))
    if tree.own and sizes(files)[0] > 60e6:
        raise SystemExit(f"{target.name} is larger than 60 MB where it is unpacked")
    say(target, files)


def _parents(path):
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]
