#!/usr/bin/env python3
"""Makes packages of the release build: build.py [KIND…] OUT. `cmake/dev package` calls it; kinds are the files beside it."""

import sys
from pathlib import Path

import deb
import image
import onednn
import tarball
import tree
import wheel
from ci_service import CiService

KINDS = {"wheel": wheel, "deb": deb, "tarball": tarball, "image": image, "action": CiService("action"), "gitlab": CiService("gitlab"),
         "pre-commit": CiService("pre-commit")}


def main(words):
    *kinds, out = words
    for kind in kinds:
        if kind not in KINDS and kind != "all":
            tree.fail(f"no package '{kind}': one of {', '.join(KINDS)} or all")
    if not kinds or "all" in kinds:
        kinds = list(KINDS)
    out = Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    root = tree.Root()
    made = tree.complete(root, onednn.make(root))
    for kind in kinds:
        KINDS[kind].make(made, out)


if __name__ == "__main__":
    main(sys.argv[1:])
