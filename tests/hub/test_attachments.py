"""Attachments: stored under an id, referred to by that id, given back by an address for a while."""

import asyncio
import json
import os
import shutil
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from pinbox.contract import MAX_ATTACHMENT_BYTES
from pins import attachments, projections
from pins.models import Attachment, Event
from tests import images, sockets
from tests.hub import loop

pytestmark = pytest.mark.django_db

MEDIA = Path(settings.PROJECT_DIR) / ".pinbox" / "media"
SHOT = images.png(64, 48)
PIN = {"text": "Save button too small", "author": {"userId": "u"}}
NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def _no_files():
    shutil.rmtree(MEDIA, ignore_errors=True)


@pytest.fixture(autouse=True)
def _one_instant(monkeypatch):
    """No address changes in the middle of a test."""
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now)


def upload(client, content=SHOT, kind="screenshot", **headers):
    answer = client.raw("POST", f"/attachments?kind={kind}", content, headers)
    document = json.loads(answer.content)
    return answer.status_code, document["data"]["attachment"] if document["ok"] else document[
        "error"
    ]


def fetch(client, url):
    """What a page's `<img>` gets: no token."""
    return client._client.get(url)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


# --- in -------------------------------------------------------------------------------------------


def test_an_upload_is_a_private_file_of_the_project_under_its_id(hub):
    status, made = upload(hub)
    assert status == 201
    path = MEDIA / f"{made['id']}.png"
    assert path.read_bytes() == SHOT
    assert (mode(path), mode(MEDIA)) == (0o600, 0o700)
    assert list(MEDIA.iterdir()) == [path]
    assert made == {
        "id": made["id"],
        "kind": "screenshot",
        "path": str(path),
        "url": made["url"],
        "contentType": "image/png",
        "width": 64,
        "height": 48,
    }


def test_a_page_is_told_the_address_and_not_the_path(page):
    status, made = upload(page)
    assert status == 201
    assert "path" not in made
    assert str(settings.PROJECT_DIR) not in json.dumps(made)
    assert fetch(page, made["url"]).content == SHOT


@pytest.mark.parametrize(
    ("content", "content_type", "ending"),
    [
        (images.jpeg(3, 4), "image/jpeg", "jpg"),
        (images.webp_extended(3, 4), "image/webp", "webp"),
        (images.gif(3, 4), "image/gif", "gif"),
        ("Größe: 44 px\r\n".encode(), "text/plain", "txt"),
        (b"<!doctype html><script>alert(1)</script>", "text/plain", "txt"),
        (b"<svg onload='alert(1)'/>", "text/plain", "txt"),
        (b"\x89PNG\r\n\x1a\n and no more", "application/octet-stream", "bin"),
        (b"%PDF-1.7\n\x00\x01", "application/octet-stream", "bin"),
        (b"caf\xe9", "application/octet-stream", "bin"),
    ],
)
def test_a_file_is_what_its_bytes_are(hub, content, content_type, ending):
    _, made = upload(hub, content, "file", **{"Content-Type": "text/html"})
    assert made["contentType"] == content_type
    assert made["path"].endswith(f"{made['id']}.{ending}")


@pytest.mark.parametrize(
    "content", [b"<html>", b"\x89PNG\r\n\x1a\n", b"\0" * 100, images.gif(0, 1)]
)
def test_a_screenshot_is_an_image(page, content):
    status, error = upload(page, content)
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert not Attachment.objects.exists()
    assert not MEDIA.exists()


@pytest.mark.parametrize("query", ["", "?kind=", "?kind=movie"])
def test_an_upload_says_its_kind(page, query):
    answer = page.raw("POST", f"/attachments{query}", SHOT)
    assert answer.status_code == 400
    assert json.loads(answer.content)["error"]["message"].startswith("kind: ")


def test_an_upload_is_not_empty(page):
    assert upload(page, b"", "file")[0] == 400


def test_an_upload_has_at_most_five_mebibytes(page):
    assert upload(page, b"x" * MAX_ATTACHMENT_BYTES, "file")[0] == 201
    status, error = upload(page, b"x" * (MAX_ATTACHMENT_BYTES + 1), "file")
    assert (status, error["code"]) == (413, "E_ATTACHMENT")
    assert len(list(MEDIA.iterdir())) == 1


def test_the_same_key_gives_the_same_upload_with_a_fresh_address(page, monkeypatch):
    _, first = upload(page, **{"Idempotency-Key": "k"})
    later = time.time() + 3 * 3600
    monkeypatch.setattr("time.time", lambda: later)
    status, again = upload(page, **{"Idempotency-Key": "k"})
    assert (status, again["id"]) == (201, first["id"])
    assert again["url"] != first["url"]
    assert Attachment.objects.count() == 1


# --- referred to ----------------------------------------------------------------------------------


def test_a_pin_and_a_message_refer_to_an_upload_by_its_id(hub):
    _, shot = upload(hub)
    _, pin = hub.post("/pins", {**PIN, "attachments": [{"id": shot["id"]}]})
    assert pin["attachments"] == [shot]
    _, message = hub.post(
        f"/pins/{pin['id']}/thread",
        {"role": "human", "text": "here", "attachments": [{"id": shot["id"], "kind": "file"}]},
    )
    assert message["attachments"] == [shot]


def test_what_a_client_says_of_an_attachment_is_not_believed(page, hub):
    _, shot = upload(page)
    said = {
        **shot,
        "kind": "file",
        "path": "/etc/passwd",
        "url": "https://evil.example/x.png",
        "contentType": "text/html",
        "width": 9,
        "height": 9,
    }
    _, pin = page.post("/pins", {**PIN, "attachments": [said, {"id": shot["id"]}]})
    assert pin["attachments"] == [shot]
    assert hub.get(f"/pins/{pin['id']}")[1]["attachments"][0]["path"] == str(
        MEDIA / f"{shot['id']}.png"
    )


@pytest.mark.parametrize("bad", ["att_aaaaaaaaaa", "", "a", "../../x", "pin_aaaaaaaaaa", "ä" * 500])
def test_an_id_that_is_no_upload_is_refused_and_nothing_is_written(hub, bad):
    _, shot = upload(hub)
    refs = [{"id": shot["id"]}, {"id": bad}]
    status, error = hub.post("/pins", {**PIN, "attachments": refs})
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert error["message"].startswith("attachments.1.id: ")
    assert not Event.objects.exists()
    assert not Attachment.objects.get().is_used


def test_the_log_holds_neither_path_nor_signature(hub):
    _, shot = upload(hub)
    hub.post("/pins", {**PIN, "attachments": [{"id": shot["id"]}]})
    payload = Event.objects.get().payload
    assert f'"url":"/media/{shot["id"]}",' in payload
    assert "signature" not in payload
    assert str(MEDIA) not in payload


def test_everything_that_leaves_has_the_address_and_for_agents_the_path(hub, page):
    _, shot = upload(hub)
    _, pin = hub.post("/pins", {**PIN, "attachments": [{"id": shot["id"]}]})
    hub.post(
        f"/pins/{pin['id']}/thread",
        {"role": "human", "text": "here", "attachments": [{"id": shot["id"]}]},
    )
    _, session = hub.post("/sessions", {"agent": "claude", "key": "s1"})
    without_path = {key: value for key, value in shot.items() if key != "path"}
    for client, expected in ((hub, shot), (page, without_path)):
        events = client.get("/events")[1]
        assert [event["payload"]["attachments"] for event in events] == [[expected]] * 2
        assert client.get("/events?limit=1&after=1")[1] == events[1:]
        for path in ("/pins", "/pins?limit=5"):
            assert client.get(path)[1][0]["attachments"] == [expected]
        assert client.get(f"/pins/{pin['id']}")[1]["attachments"] == [expected]
        assert client.get(f"/pins/{pin['id']}/thread")[1][0]["attachments"] == [expected]
    taken = hub.post(f"/sessions/{session['id']}/inject")[1]
    assert taken["pins"][0]["attachments"] == [shot]


def test_on_a_teams_hub_a_path_means_nothing_to_anyone(hub, monkeypatch):
    monkeypatch.setattr(attachments, "are_readers_here", lambda: False)
    _, shot = upload(hub)
    assert "path" not in shot
    loop.drop(attachments=[{"id": shot["id"]}])
    assert "screenshot" not in loop.prompt()


def test_words_that_look_like_a_reference_stay_words(hub):
    words = '"url":"/media/att_aaaaaaaaaa","contentType":"image/png"'
    author = {"userId": words, "name": words}
    _, pin = hub.post("/pins", {"text": words, "author": author, "target": {"url": words}})
    assert (pin["text"], pin["author"], pin["target"]["url"]) == (words, author, words)


def test_an_agent_reads_where_the_screenshot_of_a_pin_is(hub):
    _, shot = upload(hub)
    _, note = upload(hub, b"a note", "file")
    loop.drop(attachments=[{"id": note["id"]}, {"id": shot["id"]}])
    told = loop.prompt()
    assert f"\n> screenshot: {shot['path']}\n" in told
    assert note["id"] not in told


def test_a_rebuild_keeps_attachments(hub):
    _, shot = upload(hub)
    _, pin = hub.post("/pins", {**PIN, "attachments": [{"id": shot["id"]}]})
    projections.rebuild()
    assert projections.check() == {}
    assert hub.get(f"/pins/{pin['id']}")[1] == pin


@pytest.mark.django_db(transaction=True)
def test_a_socket_tells_the_address_and_no_path():
    async def play():
        async with sockets.Process() as process:
            _, catch_up = await process.join()
            return catch_up["events"][0]["payload"]["attachments"][0]

    with sockets.tokens():
        shot = attachments.store(kind="screenshot", content=SHOT, now=NOW)
        loop.drop(attachments=[{"id": shot["id"]}])
        told = asyncio.run(play())
    assert told.keys() == {"id", "kind", "url", "contentType", "width", "height"}
    assert told["url"].startswith(f"/media/{shot['id']}?expires=")


# --- out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind", "content_type", "how"),
    [
        (SHOT, "screenshot", "image/png", "inline"),
        (b"<script>alert(1)</script>", "file", "text/plain; charset=utf-8", "attachment"),
        (b"\0\1", "file", "application/octet-stream", "attachment"),
    ],
)
def test_bytes_come_back_so_that_no_browser_runs_them(page, content, kind, content_type, how):
    _, made = upload(page, content, kind)
    answer = fetch(page, made["url"])
    assert (answer.status_code, answer.content) == (200, content)
    assert answer["Content-Type"] == content_type
    assert answer["Content-Disposition"].partition(";")[0] == how
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert 3600 - 2 <= int(answer["Cache-Control"].removeprefix("private, max-age=")) <= 5400


def test_a_token_is_as_good_as_a_signature(page, hub):
    _, made = upload(page)
    for client in (page, hub):
        answer = client.raw("GET", f"/media/{made['id']}")
        assert (answer.status_code, answer.content) == (200, SHOT)
        assert answer["Cache-Control"] == "no-store"


def test_a_signed_address_may_be_asked_for_its_head_alone(page):
    _, made = upload(page)
    answer = page._client.head(made["url"])
    assert (answer.status_code, answer.content) == (200, b"")
    assert page._client.post(made["url"]).status_code == 401


def test_an_address_is_good_for_that_attachment_and_that_time_only(page):
    _, made = upload(page)
    _, other = upload(page)
    path, _, query = made["url"].partition("?")
    expires, _, signature = query.removeprefix("expires=").partition("&signature=")
    for url in (
        path,
        f"{path}?signature={signature}",
        f"{path}?expires={expires}",
        f"{path}?expires={expires}&signature=",
        f"{path}?expires={expires}&signature={signature[:-1]}",
        f"{path}?expires={expires}&signature={signature}x",
        f"{path}?expires={int(expires) + 1}&signature={signature}",
        f"{path}?expires={'9' * 400}&signature={signature}",
        f"{path}?expires=-1&signature={signature}",
        f"{path}?expires=ä&signature=ä",
        f"/media/{other['id']}?{query}",
        f"/media/att_aaaaaaaaaa?{query}",
        "/media/x?" + query,
    ):
        assert fetch(page, url).status_code in {401, 403}, url


def test_an_address_gets_old(page):
    _, made = upload(page)
    past = time.time() - attachments._STEP_S * attachments._STEPS - 1
    answer = fetch(page, attachments.address(made["id"], past))
    assert answer.status_code == 403
    error = json.loads(answer.content)["error"]
    assert (error["code"], "again" in error["hint"]) == ("E_AUTH", True)


def test_an_address_stays_the_same_for_a_while_so_that_a_browser_keeps_the_picture():
    begin = 1_800 * 10_000
    first = attachments.address("att_aaaaaaaaaa", begin)
    assert attachments.address("att_aaaaaaaaaa", begin + 1799) == first
    assert attachments.address("att_aaaaaaaaaa", begin + 1800) != first


def test_an_attachment_that_is_not_there_is_not_found(hub):
    _, made = upload(hub)
    (MEDIA / f"{made['id']}.png").unlink()
    for attachment_id in (made["id"], "att_aaaaaaaaaa", "x"):
        assert hub.get(f"/media/{attachment_id}")[0] == 404


# --- swept ----------------------------------------------------------------------------------------


@pytest.fixture
def sweep(django_capture_on_commit_callbacks, monkeypatch):
    """As the next upload does it, at that time."""

    def at(now):
        monkeypatch.setattr(attachments, "_looked_at", None)
        with django_capture_on_commit_callbacks(execute=True):
            attachments.sweep(now)

    return at


def test_what_no_pin_refers_to_for_a_day_is_removed(hub, sweep):
    _, used = upload(hub)
    hub.post("/pins", {**PIN, "attachments": [{"id": used["id"]}]})
    _, unused = upload(hub)
    sweep(NOW + timedelta(hours=23))
    assert Attachment.objects.count() == 2
    sweep(NOW + timedelta(hours=25))
    assert [row.id for row in Attachment.objects.all()] == [used["id"]]
    assert [path.name for path in MEDIA.iterdir()] == [f"{used['id']}.png"]
    assert hub.get(f"/media/{unused['id']}")[0] == 404
    status, _ = hub.post("/pins", {**PIN, "attachments": [{"id": unused["id"]}]})
    assert status == 400


def test_a_file_that_a_crash_left_without_a_row_is_removed(hub, sweep):
    _, made = upload(hub)
    orphan, half = MEDIA / "att_aaaaaaaaaa.png", MEDIA / "att_bbbbbbbbbb.png.tmp-1-ab"
    for path in (orphan, half):
        path.write_bytes(b"x")
    sweep(NOW + timedelta(hours=1))
    assert orphan.exists()
    Attachment.objects.update(is_used=True)
    sweep(NOW + timedelta(hours=25))
    assert [path.name for path in MEDIA.iterdir()] == [f"{made['id']}.png"]


def test_what_others_keep_in_the_folder_is_theirs(hub, sweep, tmp_path):
    """Somebody put the folder on another disk, or a copy of it aside."""
    upload(hub)
    theirs = tmp_path / "pictures"
    MEDIA.rename(theirs)
    MEDIA.symlink_to(theirs)
    (theirs / "holiday.png").write_bytes(b"x")
    (theirs / "att_aaaaaaaaaa.png").symlink_to(theirs / "holiday.png")
    (theirs / "att_bbbbbbbbbb.png").mkdir()
    (theirs / "old").mkdir()
    try:
        Attachment.objects.all().delete()
        sweep(NOW + timedelta(hours=25))
        kept = ["att_aaaaaaaaaa.png", "att_bbbbbbbbbb.png", "holiday.png", "old"]
        assert sorted(path.name for path in theirs.iterdir()) == kept
    finally:
        MEDIA.unlink()


def test_uploads_that_no_pin_refers_to_are_bounded(page, monkeypatch):
    monkeypatch.setattr(attachments, "MAX_UNUSED", 2)
    _, first = upload(page)
    upload(page)
    status, error = upload(page)
    assert (status, error["code"]) == (413, "E_ATTACHMENT")
    assert len(list(MEDIA.iterdir())) == 2
    page.post("/pins", {**PIN, "attachments": [{"id": first["id"]}]})
    assert upload(page)[0] == 201
