"""The folder of people of a cluster: taught once, and what the record of that refuses."""

import pytest

from onlooker.cluster.enrolment import taught_faces
from onlooker.core.errors import BadValue, NotFound
from onlooker.home.migration import TAUGHT_FILE


def test_an_error_while_teaching_is_not_reported_as_a_damaged_record(tmp_path):
    with pytest.raises(NotFound, match="nobody is called ana"), taught_faces(tmp_path):
        raise NotFound("nobody is called ana")


def test_a_damaged_record_of_an_earlier_version_is_named_and_stays(tmp_path):
    old = tmp_path / TAUGHT_FILE
    old.write_text("{")
    with pytest.raises(BadValue, match=r"register\.json cannot be read.*delete it"):
        taught_faces(tmp_path).__enter__()
    assert old.exists()
