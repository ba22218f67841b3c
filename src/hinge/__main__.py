"""`python -m hinge` is the command line."""

import sys

from hinge.cli import main

if __name__ == "__main__":
    sys.exit(main())
