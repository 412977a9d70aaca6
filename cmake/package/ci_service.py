"""What CI services read: folders of text that a release points to, with the version put in."""

import os
import shutil

from tree import HERE, TOP


class CiService:
    def __init__(self, name):
        self.name = name

    def make(self, tree, out):
        folder = out / self.name
        shutil.rmtree(folder, ignore_errors=True)
        for source in sorted((HERE / self.name).rglob("*")):
            if source.is_file():
                target = folder / source.relative_to(HERE / self.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(source.read_text().replace("@VERSION@", tree.version))
                target.chmod(source.stat().st_mode & 0o777)
        print(f"{os.path.relpath(folder, TOP)}/")
