"""The description of the API is true: whatever is sent, the answers are those it promises."""

from collections import Counter
from contextlib import suppress

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from helpers.running import serving
from helpers.services import API, client_of, service_in, teach
from helpers.waiting import DEADLINE

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
EXAMPLES = 8
"""For each route and mode; a hundred find no more."""
ENDLESS = f"{API}/events/stream"


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A service with somebody in it: its address and token."""
    folder = tmp_path_factory.mktemp("described") / "home"
    with service_in(folder) as service:
        client = client_of(service, folder)
        teach(client, 1, "ana", [0])
        with serving(client.app) as address:
            yield address, {"Authorization": f"Bearer {client.token}"}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_is_a_server_error(described, mode):
    address, key = described
    description = httpx2.get(f"{address}{API}/openapi.json", headers=key).json()
    schema = schemathesis.openapi.from_dict(description)
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == ENDLESS:
            continue
        tried += 1

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def whatever_is_sent(case):
            # a backup is made by a process of lowest priority: on a busy machine it takes long
            case.call_and_validate(base_url=address, headers=key, checks=CHECKS, timeout=DEADLINE)

        with suppress(Unsatisfiable):  # a route without parameters cannot be asked wrongly
            whatever_is_sent()
    assert tried >= 20


def test_no_sequence_of_requests_is_a_server_error(described):
    """What one answer names (a person, a card, a session) is used in the next request."""
    address, key = described
    description = httpx2.get(f"{address}{API}/openapi.json", headers=key).json()
    schema = schemathesis.openapi.from_dict(description).exclude(path=ENDLESS)
    answered, met = Counter(), Counter()

    class Sequences(schema.as_state_machine()):
        def get_call_kwargs(self, case):
            return {"base_url": address, "headers": key, "timeout": DEADLINE}

        def validate_response(self, response, case, **options):
            answered[case.operation.label] += 1
            met[case.operation.label] += response.status_code < 300 and "{" in case.path
            case.validate_response(response, checks=CHECKS)

    Sequences.run(
        settings=settings(
            max_examples=12,
            stateful_step_count=8,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    assert answered.total() >= 30
    assert met.total() >= 1, "no request used what an earlier answer named"
