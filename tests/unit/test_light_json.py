"""Our JSON is that of the standard library."""

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinbox import light_json

json_values = st.recursive(
    st.text()
    | st.integers()
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
@example({"a": {}, "b": [], "c": [[], {}], "d": {"": [1, -0.0, 1e300, '\x00\x7f\u2028\\"']}})
def test_a_document_is_what_the_standard_library_writes(value):
    assert light_json.document(value) == json.dumps(value, indent=2, ensure_ascii=False)


@given(json_values, st.sampled_from(["", " ", "\n\t\r "]))
def test_a_value_is_what_the_standard_library_reads(value, around):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        content = f"{around}{text}{around}".encode()
        assert light_json.loads(content) == json.loads(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"nonsense",
        b"{} {}",
        b"1 2",
        b'"\n"',
        b"NaN",
        b"[Infinity]",
        b"\xff",
        b"'a'",
        b"{1:2}",
    ],
)
def test_what_is_no_json_is_a_value_error(content):
    with pytest.raises(ValueError, match="."):
        light_json.loads(content)


def test_what_has_no_json_is_refused():
    with pytest.raises(TypeError):
        light_json.document({"a": object()})


def python(script):
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append('.'); {script}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_brings_nothing_along():
    assert python("import pinbox.light_json; print({'json', 're'} & set(sys.modules))") == "set()\n"


def test_it_works_without_the_c_functions():
    script = (
        "sys.modules['_json'] = None; from pinbox import light_json; "
        "print(light_json.document(light_json.loads(b' [1, {}] ')))"
    )
    assert python(script) == "[\n  1,\n  {}\n]\n"
