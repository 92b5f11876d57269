"""`python -m ndigo` is `ndigo`."""

import sys

from ndigo.cli import main

sys.exit(main())
