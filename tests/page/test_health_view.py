"""Health: every column of the camera table is seen, and the whole home can be downloaded."""

import tarfile

import pytest
from playwright.sync_api import expect

from helpers.browsing import checked


@pytest.mark.parametrize("width", [1280, 900, 390])
def test_no_column_of_the_camera_table_is_cut_off(empty, visit, width):
    """At 1280 the last column was cut, and a camera without frames took "0.0 ms"."""
    empty.running.cameras.watch("a camera with a name=rtsp://127.0.0.1:9/none")
    page = visit(empty, viewport={"width": width, "height": 900}, locale="de-DE").open("health")
    row = page.locator("tr[data-camera='a camera with a name']")
    expect(row).to_contain_text("nie verbunden")
    expect(row).to_contain_text("0,0")
    expect(row).not_to_contain_text("ms")
    box = page.locator("#health-cameras + .table-box")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_a_backup_is_downloaded_from_the_page(own, visit, tmp_path):
    page = visit(own).open("health")
    part = page.locator("[data-part=backup]")
    expect(part).to_contain_text("onlooker restore FILE")
    checked(page, "backup")
    with page.expect_download() as started:
        part.get_by_role("link", name="Download a backup").click()
    started.value.save_as(tmp_path / "copy.tar")
    assert started.value.suggested_filename.startswith("onlooker-backup-")
    with tarfile.open(tmp_path / "copy.tar") as archive:
        assert any(name.endswith("onlooker.db") for name in archive.getnames())
