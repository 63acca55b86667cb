"""Makes the files in `made/`, which the hub serves, from the modules in `web/`: `make toolbar`.

toolbar.js and toolbar.iife.js have the modules that the entry imports, in the order of their
imports in one function, minified; that is why two modules may not have the same name at their top
level. Each of PARTS is a file of its own, fetched when it is needed: a function that is given what
it imports from the others. With `--check` nothing is written: exit 1 when a file is not what the
modules make.
"""

import hashlib
import re
import sys
from pathlib import Path
from typing import Final

from . import FOLDER, MADE

ENTRY: Final = "toolbar.js"
PARTS: Final = ("more.js", "de.js")
_IMPORT: Final = re.compile(
    r'^import \{(?P<names>[^}]*)\} from "\./(?P<file>[a-z-]+\.js)";\n', re.MULTILINE
)
_EXPORT: Final = re.compile(
    r"^export (?=(?:async )?(?:function\*?|class|const|let) ([A-Za-z_$][\w$]*))", re.MULTILINE
)
_TOP: Final = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|class|const|let) ([A-Za-z_$][\w$]*)", re.MULTILINE
)
_STYLES: Final = re.compile(r"^(const (?:css|styles) = `)([^`]*)(`;)$", re.MULTILINE)
_PUBLIC: Final = "init,defineToolbarElement,PinboxToolbarElement"


class BundleError(Exception):
    """The modules cannot be put into one scope as they are."""


def order(folder: Path = FOLDER, entry: str = ENTRY, without: tuple[str, ...] = ()) -> list[str]:
    """File names, each after all that it imports, without those of `without`."""
    done: list[str] = []
    path: list[str] = []

    def visit(name: str) -> None:
        if name in done or name in without:
            return
        if name in path:
            raise BundleError(f"a circle of imports: {' -> '.join([*path, name])}")
        path.append(name)
        for found in _IMPORT.finditer((folder / name).read_text()):
            visit(found["file"])
        path.pop()
        done.append(name)

    visit(entry)
    return done


def bundle(
    folder: Path = FOLDER, entry: str = ENTRY, parts: tuple[str, ...] = PARTS
) -> dict[str, str]:
    """The text of each file, by its name. Raises BundleError."""
    names = order(folder, entry)
    inside = {name: order(folder, name, tuple(names)) for name in parts}
    main = _joined(folder, names)
    stamp = hashlib.sha256(main.encode()).hexdigest()[:8]
    kit = sorted({name for part in inside.values() for name in _from_outside(folder, part)})
    # What a part is given, and what it must say to be of the same making.
    main += f'const STAMP = "{stamp}";\nconst KIT = {{ {", ".join(kit)} }};\n'
    whole = _minified(f'() => {{ "use strict"; {main} return {{ {_PUBLIC} }} }}')
    made = {
        "toolbar.js": f"const p=({whole})();export const{{{_PUBLIC}}}=p\n",
        "toolbar.iife.js": f"globalThis.Pinbox=({whole})()\n",
    }
    for part, modules in inside.items():
        text = _joined(folder, modules)
        given = ", ".join(sorted(_from_outside(folder, modules)))
        offers = ", ".join(_EXPORT.findall((folder / part).read_text()))
        text = _minified(f"({{ {given} }}) => {{ {text} return {{ {offers} }} }}")
        made[part] = f'export const stamp="{stamp}";export default {text}\n'
    return made


def _joined(folder: Path, names: list[str]) -> str:
    """The modules as the inside of one function."""
    known: dict[str, str] = {}
    pieces = []
    for name in names:
        source = (folder / name).read_text()
        for top in _TOP.findall(source):
            if top in known:
                raise BundleError(f"{top} is in {known[top]} and in {name}")
            known[top] = name
        for file, imported in _imports(source):
            exported = _EXPORT.findall((folder / file).read_text())
            if imported not in exported:
                raise BundleError(f"{name} imports {imported}, not in {file}")
        text = _EXPORT.sub("", _IMPORT.sub("", source))
        left = re.search(r"^(?:import|export)\b.*", text, re.MULTILINE)
        if left:
            raise BundleError(f"{name} has a line that is not understood: {left[0]}")
        pieces.append(_STYLES.sub(_small_styles, text))
    return "".join(pieces)


def _imports(source: str) -> list[tuple[str, str]]:
    """File and name of all that is imported."""
    return [
        (found["file"], name)
        for found in _IMPORT.finditer(source)
        for name in filter(None, (part.strip() for part in found["names"].split(",")))
    ]


def _from_outside(folder: Path, names: list[str]) -> set[str]:
    """What these modules import from others than each other."""
    return {
        imported
        for name in names
        for file, imported in _imports((folder / name).read_text())
        if file not in names
    }


def _small_styles(found: re.Match[str]) -> str:
    return found[1] + _small("text/css", found[2]) + found[3]


def _minified(function: str) -> str:
    """The same function, made small. Names of its own are changed, properties are not."""
    text = _small("application/javascript", f"({function})()")
    if not (text.startswith("(") and text.endswith(")()")):
        raise BundleError("the minifier made another shape")
    return text[1:-3]


def _small(kind: str, text: str) -> str:
    # Only those who change the toolbar have it.
    import minify

    return str(minify.string(kind, text))


def main(arguments: list[str]) -> int:
    made = bundle()
    if "--check" in arguments:
        files = {path.name: path.read_text() for path in MADE.glob("*.js")}
        if files != made:
            print("made/ is not what the modules make: run `make toolbar`")
        return int(files != made)
    for name, text in made.items():
        (MADE / name).write_text(text)
        print(f"{name}: {len(text.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
