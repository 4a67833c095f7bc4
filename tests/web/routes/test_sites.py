"""The sites of a cluster."""

from starlette.testclient import TestClient

from helpers.services import API
from onlooker.web.app import create_app
from onlooker.web.auth import Guard
from onlooker.web.credentials import Credentials
from onlooker.web.routes.sites import SiteRow


def test_sites_are_told_by_whoever_started_the_service(client, service, tmp_path):
    assert client.get(f"{API}/sites").json() == []
    gate = SiteRow("gate", "restarting", 2, 340, 8, 91_000, 5021, "it fell over")
    guard = Guard(Credentials(tmp_path / "home"))
    app = create_app(service, guard=guard, list_sites=lambda: [gate])
    other = TestClient(app, base_url="http://127.0.0.1:8765", headers=client.headers)
    (site,) = other.get(f"{API}/sites").json()
    assert (site["name"], site["state"], site["problem"]) == ("gate", "restarting", "it fell over")
