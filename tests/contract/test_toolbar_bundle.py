"""The one-file toolbar is what the modules make, and the modules are typed."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from pinbox_site.toolbar import FOLDER, bundle

PROJECT = FOLDER.parent / "tsconfig.json"


def test_the_one_file_is_what_the_modules_make():
    assert bundle.OUTPUT.read_text() == bundle.bundle(), "run `make toolbar`"


def test_every_module_is_in_it():
    modules = {path.name for path in FOLDER.glob("*.js")} - {bundle.OUTPUT.name}
    assert set(bundle.order()) == modules


def test_it_is_not_larger_than_agreed():
    assert len(gzip.compress(bundle.OUTPUT.read_bytes(), 9)) <= 47_000


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("const a = 1; // why\n", "const a = 1;\n"),
        ("/* x */\n\n  let b = '// no';\n", "let b = '// no';\n"),
        ("const c = `/* ${d(/[`/]/, `}`)} */`;\n", "const c = `/* ${d(/[`/]/, `}`)} */`;\n"),
        ("x.replace(/\\/\\//g, 1 / 2 / 3); // y\n", "x.replace(/\\/\\//g, 1 / 2 / 3);\n"),
    ],
)
def test_only_comments_and_white_space_go(source, made):
    assert bundle.plain(source) == made


def test_two_modules_with_the_same_name_are_refused(tmp_path):
    (tmp_path / "a.js").write_text("export const x = 1;\n")
    (tmp_path / "b.js").write_text('import { x } from "./a.js";\nconst x = 2;\n')
    with pytest.raises(bundle.BundleError, match="x is in a.js and in b.js"):
        bundle.bundle(tmp_path, "b.js")


def test_an_import_of_what_is_not_there_is_refused(tmp_path):
    (tmp_path / "a.js").write_text("export const x = 1;\n")
    (tmp_path / "b.js").write_text('import { y } from "./a.js";\n')
    with pytest.raises(bundle.BundleError, match="imports y"):
        bundle.bundle(tmp_path, "b.js")


def _tsc() -> str | None:
    local = Path(__file__).resolve().parents[2] / "node_modules/.bin/tsc"
    return str(local) if local.exists() else shutil.which("tsc")


def test_the_modules_are_typed_strictly():
    tsc = _tsc()
    if tsc is None:
        pytest.skip("no tsc: npm install --no-save typescript")
    done = subprocess.run([tsc, "-p", str(PROJECT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
