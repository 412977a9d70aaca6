"""The container recipe with the tarball that it unpacks, as a folder to build in."""

import shutil

import tarball
from tree import HERE


def make(tree, out):
    folder = out / "image"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "image", folder)
    made = out / tarball.name_of(tree)
    if not made.exists():
        tarball.make(tree, out)
    shutil.copy(made, folder)
