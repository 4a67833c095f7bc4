"""The files of the page: media types, revalidation, and no other files."""

import pytest


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/static/index.html", "text/html")],
)
def test_a_file_of_the_page_is_served_and_known_again(client, path, kind):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get(path, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "script-src 'self'" in again.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "app.py",
        "",
        "none.js",
        "a\\b.js",
        "x.html/",
    ],
)
def test_nothing_else_is_served(client, path):
    answer = client.get(f"/static/{path}")
    assert answer.status_code == 404
    assert "import" not in answer.text
