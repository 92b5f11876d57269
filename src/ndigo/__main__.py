"""`python -m ndigo` is `ndigo`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the working folder: nothing in it is imported in place of a package, or of a missing one

from ndigo.cli import main

sys.exit(main())
