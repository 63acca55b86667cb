"""The documentation keeps up with the code: whatever a user can meet has a place in docs/."""

import ast
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from docs import generate
from pinbox import cli, contract

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("pinbox", "pinbox_site", "pins", "delivery", "sessions_app")
METHODS = ("get", "post", "put", "patch", "delete")

#: What only a test run sets.
TEST_ONLY_VARIABLES = {"PINBOX_TEST_DB"}


def page(name: str) -> str:
    return (DOCS / name).read_text()


def table_rows(text: str) -> list[list[str]]:
    """The cells of every table row, without back-ticks; `\\|` is a bar inside a cell."""
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            rows.append([cell.strip().replace("`", "").replace("\\|", "|") for cell in cells])
    return rows


def string_constants() -> Iterator[tuple[Path, str]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path, node.value


@pytest.mark.parametrize("code", contract.ERRORS)
def test_every_error_code_is_documented_with_its_status_and_exit_code(code):
    status, exit_code = contract.ERRORS[code]
    row = next((row for row in table_rows(page("wire.md")) if row[0] == code), None)
    assert row is not None, f"{code} is not in docs/wire.md"
    assert row[1:3] == [str(HTTPStatus(status).value), str(exit_code)]


@pytest.mark.parametrize("code", contract.ERRORS)
def test_every_exit_code_is_documented(code):
    rows = {row[1]: row[0] for row in table_rows(page("cli.md")) if row[1:2] and row[1]}
    assert rows.get(code) == str(contract.ERRORS[code][1])


def test_no_error_code_is_documented_that_does_not_exist():
    named = set(re.findall(r"\bE_[A-Z_]+\b", "".join(p.read_text() for p in DOCS.rglob("*.md"))))
    assert named <= set(contract.ERRORS)


@pytest.mark.parametrize("event_type", contract.EVENT_TYPES)
def test_every_event_type_is_documented(event_type):
    assert event_type in [row[0] for row in table_rows(page("concepts.md"))]
    assert f"`{event_type}`" in page("wire.md")


def test_every_environment_variable_that_is_read_is_documented():
    read = {text for _, text in string_constants() if re.fullmatch(r"PINBOX_[A-Z0-9_]+", text)}
    read |= set(contract.AGENT_SESSION_ENV) - TEST_ONLY_VARIABLES
    missing = {name for name in read if f"`{name}`" not in page("configuration.md")}
    assert missing - TEST_ONLY_VARIABLES == set()


def test_every_documented_environment_variable_is_read():
    documented = set(re.findall(r"\bPINBOX_[A-Z0-9_]+\b", page("configuration.md")))
    code = "\n".join(text for _, text in string_constants())
    sources = "\n".join(
        path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )
    assert {name for name in documented if name not in code and name not in sources} == set()


def served_routes() -> set[str]:
    """`GET /pins/<id>` for every API route there is, /health being answered in front of them."""
    routes = {"GET /health"}
    for prefix, pattern in _patterns(get_resolver().url_patterns, ""):
        if prefix.startswith(("admin/", "static/")):
            continue
        path = "/" + re.sub(r"\(\?P<\w*?agent>[^)]*\)|<\w*:?agent>", "<agent>", prefix)
        path = re.sub(r"\(\?P<\w+>[^)]*\)|<(?:\w+:)?\w*id>", "<id>", path)
        view = getattr(pattern.callback, "cls", None) or getattr(
            pattern.callback, "view_class", None
        )
        methods = [method for method in METHODS if view is None or hasattr(view, method)]
        routes |= {f"{method.upper()} {path}" for method in methods}
    return routes


def _patterns(patterns, prefix):
    for pattern in patterns:
        text = prefix + str(pattern.pattern).removeprefix("^").removesuffix("$")
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, text)
        elif isinstance(pattern, URLPattern):
            yield text, pattern


def test_the_documented_routes_are_the_served_ones():
    first_cells = [row[0] for row in table_rows(page("wire.md"))]
    documented = {cell for cell in first_cells if re.match(r"(GET|POST|PUT|PATCH|DELETE) /", cell)}
    assert documented == served_routes()


def test_the_documented_limits_are_the_real_ones():
    limits = dict(row[:2] for row in table_rows(page("wire.md")) if len(row) == 2)
    mib, kib = 1024 * 1024, 1024
    assert limits["a body"] == (
        f"{contract.MAX_BODY_BYTES // mib} MiB "
        f"(a hook's payload: {contract.MAX_HOOK_BODY_BYTES // mib} MiB)"
    )
    assert limits["one text"] == f"{contract.MAX_TEXT_BYTES // kib} KiB of UTF-8"
    assert contract.MAX_ARRAY_ITEMS == contract.MAX_OBJECT_KEYS
    assert limits["items of an array, keys of an object"] == str(contract.MAX_ARRAY_ITEMS)
    assert limits["nesting"] == f"{contract.MAX_JSON_DEPTH} levels"
    assert limits["limit of a page"] == str(contract.MAX_PAGE)
    assert limits["Idempotency-Key"] == f"{contract.MAX_IDEMPOTENCY_KEY} characters"
    assert limits["search"] == f"{contract.MAX_SEARCH_BYTES // kib} KiB of UTF-8"
    assert limits["what a hook adds to a context"] == f"{contract.MAX_CONTEXT_BYTES:,} bytes"


def test_every_command_has_a_page_made_from_its_own_help():
    pages = generate.pages()
    visible = {verb.name.split()[0] for verb in cli.all_verbs() if not verb.hidden}
    assert {path.stem for path in pages} == visible | {"README"}
    stale = [path.name for path, text in pages.items() if path.read_text() != text]
    assert stale == [], "run `make docs`"


MARKDOWN = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(path):
    targets = re.findall(r"\]\((?!https?:|mailto:)([^)#]*)[^)]*\)", path.read_text())
    missing = [target for target in targets if target and not (path.parent / target).exists()]
    assert missing == []


def test_every_page_is_reached_from_the_readme():
    readme = (ROOT / "README.md").read_text()
    pages = list(DOCS.glob("*.md"))
    assert [p.name for p in pages if f"docs/{p.name}" not in readme] == []


def test_every_file_that_the_architecture_names_exists():
    rows = [row for row in table_rows(page("architecture.md")) if row[0].endswith("/")]
    missing = []
    for line in page("architecture.md").splitlines():
        found = re.match(r"\| `(\w+)/` \| (.*) \|$", line)
        if found:
            folder = ROOT / found[1]
            named = re.findall(r"`([\w./]+\.(?:py|sql)|[\w/]+/)`", found[2])
            missing += [f"{found[1]}/{name}" for name in named if not (folder / name).exists()]
    assert rows
    assert missing == []
