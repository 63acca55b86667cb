"""`python -m pinbox`: the same as `pinbox`."""

from pinbox.cli import main

raise SystemExit(main())
