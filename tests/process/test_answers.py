"""What becomes of an answer when its hub cannot finish it."""

import http.client

import pytest

from tests.process.pages import hub_with

pytestmark = pytest.mark.process

#: Code that lets a list fail after so many of its pieces.
FAILS_AFTER = """
from django.db import OperationalError
from pins import verbatim
whole = verbatim._pieces
def some(*given, **options):
    yield from list(whole(*given, **options))[:{count}]
    raise OperationalError("server closed the connection unexpectedly")
verbatim._pieces = some
"""


def ask(state, path):
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=20)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {state.token}"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def code(count):
    return f"exec({FAILS_AFTER.format(count=count)!r}, {{}})"


def test_a_database_that_goes_before_the_first_byte_is_told(place):
    place.run("list")
    place.run("stop")
    with hub_with(place, code(0)):
        status, body = ask(place.state(), "/pins")
    assert status == 503
    assert b"E_INTERNAL" in body
    assert b"closed the connection" not in body


def test_a_database_that_goes_in_the_middle_ends_the_connection_and_nothing_else(place):
    place.run("pin", "something to list")
    place.run("stop")
    with hub_with(place, code(1)):
        state = place.state()
        for _ in range(2):
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                ask(state, "/pins")
        # Whatever looks after connections goes on doing so.
        assert ask(state, "/summary")[0] == 200
    assert "Traceback" not in place.log()
    assert "closed the connection" not in place.log()
