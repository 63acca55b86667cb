"""The built wheel, and a clean environment it is installed in."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Seconds. Building and installing take a few; a hang must not hold the run.
DEADLINE_S = 100


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel; `bin` is its folder of programs."""

    bin: Path
    site_packages: Path

    def run(
        self, *command: str, cwd: Path, home: Path, stdin: bytes = b"", check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        """`command`, its program taken from `bin`, with an environment of its own."""
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=cwd,
            env={"HOME": str(home), "PATH": f"{self.bin}:/usr/bin:/bin", "LANG": "C.UTF-8"},
            input=stdin,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{command}: {done.stdout!r} {done.stderr!r}"
        return done


def _python(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """Built from the tree as it stands, without a network: the backend is in the dev group."""
    folder = tmp_path_factory.mktemp("wheel")
    _python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


def _environment(folder: Path, wheel: Path, paths: Sequence[str]) -> Installed:
    _python("-m", "venv", "--without-pip", str(folder))
    bin_folder = folder / "bin"
    python = str(bin_folder / "python")
    _python("-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", str(wheel))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site_packages = folder / "lib" / version / "site-packages"
    if paths:
        (site_packages / "_dependencies.pth").write_text("".join(f"{path}\n" for path in paths))
    return Installed(bin_folder, site_packages)


@pytest.fixture(scope="session")
def bare(wheel, tmp_path_factory) -> Installed:
    """The wheel alone, no dependency in sight: `pip install --no-deps pinbox`."""
    return _environment(tmp_path_factory.mktemp("bare") / "venv", wheel, [])


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Installed:
    """The wheel and its dependencies, those of this run (a `.pth` line adds a folder, but not what
    that folder's own `.pth` files add, so the checkout stays out of sight)."""
    dependencies = sysconfig.get_paths()["purelib"]
    return _environment(tmp_path_factory.mktemp("installed") / "venv", wheel, [dependencies])


@pytest.fixture
def home(tmp_path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def project(tmp_path) -> Path:
    """A git repository with nothing in it."""
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=os.environ)
    return folder
