"""Run the command line with `python -m hinge`."""

import sys

from hinge.cli import main

if __name__ == "__main__":
    sys.exit(main())
