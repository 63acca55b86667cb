"""No token and no pin's text above DEBUG: what the code writes into a log, read from the code."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pinbox", "pinbox_site", "pins", "sessions_app", "delivery")
LOGGERS = {"log", "logger", "logging"}
LOUD = {"info", "warning", "error", "critical", "exception", "log"}
#: Names of what must not be logged: secrets, and what people and agents wrote.
SECRET = {
    "token",
    "page_token",
    "credential",
    "secret",
    "password",
    "authorization",
    "headers",
    "cookie",
    "query_string",
    "text",
    "body",
    "raw",
    "payload",
    "content",
    "document",
    "prompt",
    "note",
}
#: Where an exception may be logged with its own text, because no request was near it.
START = {"pinbox/hub.py", "pinbox_site/idle.py"}

FILES = sorted(
    path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts
)


def loud_calls(tree: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in LOGGERS
        and node.func.attr in LOUD
    ]


def names_in(call: ast.Call) -> set[str]:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = set()
    for argument in arguments:
        for node in ast.walk(argument):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found


def faults(source: str, file: str = "x.py") -> list[str]:
    found = []
    for call in loud_calls(ast.parse(source)):
        assert isinstance(call.func, ast.Attribute)
        if secret := names_in(call) & SECRET:
            found.append(f"{file}:{call.lineno} logs {', '.join(sorted(secret))}")
        with_exception = call.func.attr == "exception" or any(
            keyword.arg == "exc_info" for keyword in call.keywords
        )
        if with_exception and file not in START:
            found.append(f"{file}:{call.lineno} logs an exception's text, which may quote a pin")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_log_line_above_debug_holds_a_secret_or_what_somebody_wrote(path):
    assert faults(path.read_text(), str(path.relative_to(ROOT))) == []


@pytest.mark.parametrize(
    "source",
    [
        "log.info('in %s', token)",
        "logger.warning(f'{pin.text}')",
        "log.error('x', extra={'body': request.body})",
        "log.exception('x')",
        "logger.error('x', exc_info=True)",
        "logging.info(payload['x'])",
    ],
)
def test_the_reader_sees_such_a_line(source):
    assert faults(source)


@pytest.mark.parametrize("source", ["log.debug('%s', token, exc_info=e)", "log.info('%s', pin_id)"])
def test_the_reader_lets_other_lines_pass(source):
    assert faults(source) == []
