"""`python -m ndigo` is `ndigo`."""

import sys

if not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))  # the working folder: nothing in it is imported in place of a package

from ndigo.cli import main

sys.exit(main())
