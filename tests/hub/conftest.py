"""Clients of the hub in the test's own process, through Django's handler and the real routes."""

import json
from contextlib import contextmanager

import pytest
from django.test import Client

from pinbox_site import auth, runtime

TOKEN = "full-token-of-this-test-run-000000"
PAGE_TOKEN = "page-token-of-this-test-run-000000"


class HubClient:
    """Speaks JSON with one token. An answer is (status, data), or (status, error)."""

    def __init__(self, token):
        self._client = Client(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {token}"}

    def raw(self, method, path, body=b"", headers=None):
        return self._client.generic(
            method,
            path,
            body,
            content_type="application/json",
            headers={**self._headers, **(headers or {})},
        )

    def request(self, method, path, body=None, headers=None):
        answer = self.raw(method, path, b"" if body is None else json.dumps(body).encode(), headers)
        envelope = json.loads(
            b"".join(answer.streaming_content) if answer.streaming else answer.content
        )
        return answer.status_code, envelope["data"] if envelope["ok"] else envelope["error"]

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def post(self, path, body=None, headers=None):
        return self.request("POST", path, body, headers)

    def delete(self, path):
        return self.request("DELETE", path)


@contextmanager
def installed_tokens():
    """The hub of this process knows the two tokens."""
    before = runtime.current()
    runtime.install(
        runtime.Runtime(
            project_dir=None,
            token=TOKEN,
            page_token=PAGE_TOKEN,
            instance="test",
            started_at="2026-01-01T00:00:00.000Z",
        )
    )
    auth.verifier.cache_clear()
    try:
        yield
    finally:
        runtime.install(before)


@pytest.fixture(autouse=True)
def _tokens():
    with installed_tokens():
        yield


@pytest.fixture
def hub():
    """A client that may do everything."""
    return HubClient(TOKEN)


@pytest.fixture
def page():
    """A client with a page's token."""
    return HubClient(PAGE_TOKEN)
