"""The queue of jobs is bounded."""

from threading import Event

from helpers.services import API, client_of, service_in
from helpers.waiting import eventually


def test_too_much_work_is_refused_not_queued_for_ever(tmp_path):
    with service_in(tmp_path / "home", queue_size=2) as service:
        client = client_of(service, tmp_path / "home")
        go = Event()
        blocked = service.home_thread.submit(lambda home: go.wait(20))
        eventually(blocked.running)
        waiting = [service.home_thread.submit(lambda home: home.sequence) for _ in range(2)]
        answer = client.get(f"{API}/people")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert client.get(f"{API}/health").status_code == 200  # needs no turn
        go.set()
        assert [one.result(5) for one in waiting] == [0, 0]
        assert client.get(f"{API}/people").status_code == 200
