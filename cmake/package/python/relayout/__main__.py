"""`python -m relayout …` is `relayout …`."""

import os
import sys

from relayout import command

if __name__ == "__main__":
    words = command(sys.argv[1:])
    os.execv(words[0], words)
