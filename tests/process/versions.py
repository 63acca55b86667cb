"""Running the commands of a copy of this checkout (see the fixture `other_version`)."""

import subprocess

from tests.process.conftest import PYTHON


def run_copy(copy, place, *arguments):
    """`pinbox` of that copy."""
    return run_code(copy, place, "from pinbox.cli import main; sys.exit(main())", *arguments)


def run_code(copy, place, code, *arguments):
    script = f"import sys; sys.path.insert(0, {str(copy)!r}); {code}"
    return subprocess.run(
        [PYTHON, "-I", "-c", script, *arguments],
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
