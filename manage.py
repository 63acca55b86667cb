#!/usr/bin/env python
"""Django's command line for the hub. `manage.py pinbox …` is the client and imports no Django."""

import os
import sys


def main() -> int:
    if sys.argv[1:2] == ["pinbox"]:
        from pinbox.cli import main as pinbox

        return pinbox(sys.argv[2:])

    # Set, not defaulted: a Django developer's shell often has a settings module of its own.
    os.environ["DJANGO_SETTINGS_MODULE"] = "pinbox_site.settings"
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
