"""The hub keeps what its own OpenAPI document says, whatever is sent to it."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

pytestmark = pytest.mark.process


def test_every_operation_answers_as_its_document_says(daemon):
    state = daemon.state()
    base = f"http://127.0.0.1:{state.port}"
    headers = {"Authorization": f"Bearer {state.token}"}
    document = schemathesis.openapi.from_url(f"{base}/schema", headers=headers)
    operations = [found.ok() for found in document.get_all_operations()]
    assert {"POST /pins", "GET /events", "POST /sessions"} <= {each.label for each in operations}

    for operation in operations:

        @settings(
            max_examples=20 if operation.label == "POST /pins" else 8,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def conforms(case):
            case.call_and_validate(base_url=base, headers=headers, checks=CHECKS, timeout=30)

        conforms()
    # It was not all refusals.
    assert json.loads(daemon.run("summary").stdout)["data"]["lastEventSeq"] > 0
