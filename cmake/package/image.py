"""The container recipe with the .deb that it installs, as a folder to build in."""

import shutil

import deb
from tree import HERE


def make(tree, out):
    folder = out / "image"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "image", folder)
    made = out / f"relayout_{tree.version}_amd64.deb"
    if not made.exists():
        deb.make(tree, out)
    shutil.copy(made, folder)
