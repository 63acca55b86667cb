"""The files that are served are what the modules make, and the modules are typed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pinbox_site.toolbar import FOLDER, MADE, bundle, load

PROJECT = FOLDER.parent / "tsconfig.json"
#: As served, packed: all that a page needs to place, write, read, answer and verify.
LARGEST_BYTES = 35_000


def test_what_is_served_is_what_the_modules_make():
    files = {path.name: path.read_text() for path in MADE.glob("*.js")}
    assert files == bundle.bundle(), "run `make toolbar`"


def test_every_module_is_in_one_of_the_files():
    main = bundle.order()
    parts = [name for part in bundle.PARTS for name in bundle.order(FOLDER, part, tuple(main))]
    assert sorted([*main, *parts]) == sorted(path.name for path in FOLDER.glob("*.js"))


@pytest.mark.parametrize("name", ["toolbar.js", "toolbar.iife.js"])
def test_what_a_page_loads_is_not_larger_than_agreed(name):
    assert len(load()[name].packed) <= LARGEST_BYTES


def modules(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        (folder / f"{name}.js").write_text(source)
    return folder


def made(folder: Path, **sources: str) -> dict[str, str]:
    return bundle.bundle(modules(folder, **sources), "a.js", ("part.js",))


def test_a_part_is_given_what_it_takes_from_the_first_file(tmp_path):
    files = made(
        tmp_path,
        a="export function twice(x) { return 2 * x; }\n"
        "export const init = 1, defineToolbarElement = 2, PinboxToolbarElement = 3;\n",
        part='import { twice } from "./a.js";\nexport const answer = () => twice(21);\n',
    )
    assert re.search(r"default \(\{twice", files["part.js"])
    assert "2*" not in files["part.js"], "not a second time"


def test_two_modules_with_the_same_name_are_refused(tmp_path):
    first = 'import { x } from "./b.js";\nconst x = 2;\n'
    with pytest.raises(bundle.BundleError, match=r"x is in b\.js and in a\.js"):
        made(tmp_path, a=first, b="export const x = 1;\n", part="")


def test_an_import_of_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(bundle.BundleError, match="imports y"):
        made(tmp_path, a='import { y } from "./b.js";\n', b="export const x = 1;\n", part="")


def _tsc() -> str | None:
    local = Path(__file__).resolve().parents[2] / ".ci-work/tsc/node_modules/.bin/tsc"
    return str(local) if local.exists() else shutil.which("tsc")


def test_the_modules_are_typed_strictly():
    tsc = _tsc()
    if tsc is None:
        pytest.skip("no tsc: npm install --prefix .ci-work/tsc typescript")
    done = subprocess.run([tsc, "-p", str(PROJECT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
