"""The two small shell scripts through which agents' hooks and git reach the installed program.

They call the user's own. The one in `.pinbox/` says that init ran there, and is called in a home
where it did not. What other files hold is stable text that only names a launcher; the machine's own
paths stand in the launcher alone, and a starting hub writes them anew. So a moved environment, a
new minor version of Python or a reinstall mends itself, and a missing program is silence, exit 0.
"""

import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import Final

import pinbox
from pinbox import project

MARK: Final = "# Made by Pinbox"

#: `hook <agent>` answers an agent's hook, payload on stdin; `hook git <sha>` reads a commit.
_SCRIPT: Final = """\
#!/bin/sh
{mark}, which writes it anew when its hub starts. Always exits 0.
py={python}
root={root}
cli='import sys; sys.path.append(sys.argv.pop(1)); from pinbox.cli import main; sys.exit(main())'

exec 2>/dev/null

if [ "${{1-}}" = git ]; then
  set -- session trailer --hook --commit "${{2-HEAD}}"
  exec </dev/null
  [ -x "$py" ] && [ -d "$root/pinbox" ] && "$py" -I -S -c "$cli" "$root" "$@" && exit 0
else
  [ -x "$py" ] && [ -f "$root/pinbox/hook.py" ] && "$py" -I -S "$root/pinbox/hook.py" "$@" && exit 0
  set -- hook "$@"
fi

# The program has moved: look where it can be found without knowing this machine.
PATH="${{PATH-}}:${{HOME-}}/.local/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin"
for pinbox in {script} "$(command -v pinbox)"; do
  [ -x "$pinbox" ] && "$pinbox" "$@" && exit 0
done
exit 0
"""


def path_in(project_dir: Path) -> Path:
    return project_dir / project.FOLDER / project.LAUNCHER


def path_of_user() -> Path:
    return project.state_home() / "pinbox" / project.LAUNCHER


def script() -> bytes:
    """The launcher for the program that is running now."""
    return _rendered(*names())


def names() -> tuple[str, str]:
    """Interpreter and package folder of the program that is running now."""
    return _python(), os.path.dirname(os.path.dirname(os.path.abspath(pinbox.__file__)))


def _rendered(python: str, root: str) -> bytes:
    return os.fsencode(
        _SCRIPT.format(
            mark=MARK,
            python=shlex.quote(python),
            root=shlex.quote(root),
            script=shlex.quote(os.path.join(os.path.dirname(python), "pinbox")),
        )
    )


def named_in(content: bytes) -> tuple[str, str] | None:
    """Interpreter and package folder that a launcher names; None unless this very version of
    Pinbox wrote the rest of it, so that running it runs nothing else.
    """
    words = {}
    for line in os.fsdecode(content).splitlines()[:5]:
        name, equals, value = line.partition("=")
        if equals and name in ("py", "root"):
            with contextlib.suppress(ValueError):
                words[name] = "".join(shlex.split(value))
    python, root = words.get("py", ""), words.get("root", "")
    if not (os.path.isabs(python) and os.path.isabs(root)) or content != _rendered(python, root):
        return None
    return python, root


def _python() -> str:
    """The running interpreter, by its name without a version if it has one: that one outlives an
    upgrade of Python in the same environment.
    """
    running = os.path.abspath(sys.executable or "/usr/bin/python3")
    for name in ("python3", "python"):
        plain = os.path.join(os.path.dirname(running), name)
        with contextlib.suppress(OSError):
            if os.path.samefile(plain, running):
                return plain
    return running


def refresh(project_dir: Path | str) -> None:
    """Write the launchers anew where `init` has put them, for the program that is running now.

    Called by a starting hub. Never raises: a launcher that cannot be written is left as it is.
    """
    with contextlib.suppress(Exception):
        own = path_in(Path(project_dir))
        content = script()
        if not os.path.exists(own):  # init never ran here, or was undone
            return
        for path in (own, path_of_user()):
            with contextlib.suppress(Exception):
                if is_ours(path) and not is_good(path, content):
                    write(path, content)


def is_ours(path: Path) -> bool:
    """Whether this is a launcher of ours, or nothing at all."""
    if not os.path.lexists(path):
        return True
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    try:
        with path.open("rb") as file:
            return MARK.encode() in file.read(200)
    except OSError:
        return False


def is_good(path: Path, content: bytes) -> bool:
    return os.path.isfile(path) and path.read_bytes() == content and os.access(path, os.X_OK)


def write(path: Path, content: bytes) -> None:
    """Replace the launcher in one step; it is 0700 from the moment it has its name."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        project.private_write(temporary, content)
        temporary.chmod(0o700)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
