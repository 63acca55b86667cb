"""`/ws` frame by frame: who comes in, hello, catch-up, live, and every way to be sent away."""

import asyncio
import json
from functools import cache

import pytest
from django.db import OperationalError

from pinbox.contract import PinboxError
from pinbox_site import auth, sockets
from pinbox_site.gate import GateSettings
from pins import consumers, live
from pins.models import Event
from tests.contract.asgi import request
from tests.sockets import FULL, PAGE, Process, drop, tokens

pytestmark = pytest.mark.django_db(transaction=True)

TEAM = GateSettings(hosts=("pinbox.example",), origins=("https://app.example",))


@pytest.fixture(autouse=True)
def _tokens():
    with tokens():
        yield


def stored():
    """The log as event frames."""
    return [
        {"type": "event", "seq": e.seq, "eventType": e.type, "at": e.at}
        | {"payload": json.loads(e.payload)}
        for e in Event.objects.order_by("seq")
    ]


# --- who comes in ---------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [FULL, PAGE])
def test_a_token_in_a_subprotocol_lets_in_and_is_echoed_whole(token):
    async def play():
        async with Process() as hub:
            socket = await hub.connect(token=token)
            assert await socket.accepted() == f"pinbox.token.{token}"
            await socket.hello()
            assert (await socket.frame())["type"] == "catch-up"

    asyncio.run(play())


@pytest.mark.parametrize("token", [FULL, PAGE])
def test_a_token_in_the_address_lets_in_without_a_subprotocol(token):
    async def play():
        async with Process() as hub:
            socket = await hub.connect(token=None, query=f"a=1&token={token}".encode())
            assert await socket.accepted() is None
            await socket.hello()
            assert (await socket.frame())["type"] == "catch-up"

    asyncio.run(play())


@pytest.mark.parametrize(
    ("token", "query"),
    [
        (None, b""),
        (None, b"token="),
        (None, b"token=wrong"),
        (None, b"token=\xff"),
        (None, b"token=" + b"&token=" * 50 + FULL.encode()),
        ("", b""),
        ("wrong", b""),
        (PAGE[:-1], b""),
        ("x" * 10_000, b""),
        # The subprotocol speaks for the socket; the address is not asked as well.
        ("wrong", b"token=" + FULL.encode()),
    ],
)
def test_without_a_good_token_the_socket_is_opened_and_closed_with_4401(token, query):
    async def play():
        async with Process() as hub:
            socket = await hub.connect(token=token, query=query)
            await socket.accepted()
            assert await socket.closed() == 4401
            assert socket.is_silent()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("settings", "host", "origin"),
    [
        (None, "127.0.0.1:4000", "https://evil.example"),
        (None, "127.0.0.1:4000", "http://localhost.evil.example"),
        (None, "127.0.0.1:4000", "null"),
        (None, "evil.example:4000", ""),
        (None, "evil.example:4000", "http://localhost:3000"),
        (None, "127.0.0.1.nip.io", ""),
        (TEAM, "pinbox.example", "https://evil.example"),
        (TEAM, "pinbox.example", "http://localhost:3000"),
    ],
)
def test_a_foreign_page_or_name_is_refused_before_the_handshake(settings, host, origin):
    async def play():
        async with Process(settings=settings) as hub:
            socket = await hub.connect(token=FULL, host=host, origin=origin)
            assert (await socket.got())["type"] == "websocket.close"  # never accepted: HTTP 403
            assert socket.is_silent()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("settings", "host", "origin"),
    [
        (None, "localhost:4000", ""),  # a program, which has no page
        (None, "[::1]:4000", "http://localhost:4000"),
        (None, "127.0.0.1:4000", "http://localhost:3000"),  # another port: the app's own page
        (TEAM, "pinbox.example", "https://app.example"),
        (TEAM, "pinbox.example", "https://pinbox.example"),
    ],
)
def test_a_page_that_may_call_the_hub_may_open_a_socket(settings, host, origin):
    async def play():
        async with Process(settings=settings) as hub:
            await hub.open(host=host, origin=origin)

    asyncio.run(play())


def test_another_path_is_no_socket():
    async def play():
        async with Process() as hub:
            for path in ("/", "/ws/", "/pins"):
                socket = await hub.connect(path=path)
                assert (await socket.got())["type"] == "websocket.close"

    asyncio.run(play())


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
@pytest.mark.parametrize("headers", [(), (("Authorization", f"Bearer {FULL}"),)])
def test_a_request_that_asks_for_no_upgrade_is_told_so_whoever_asks(method, headers):
    answer = request(Process().app, method, "/ws", headers=headers)
    assert answer.status == 400
    assert answer.header("content-type") == "text/plain; charset=utf-8"
    assert answer.header("content-length") == str(len(answer.body))


def test_one_socket_too_many_is_told_to_try_later(monkeypatch):
    monkeypatch.setattr(sockets, "MAX_SOCKETS", 2)

    async def play():
        async with Process() as hub:
            first, _ = await hub.join()
            await hub.join()
            third = await hub.connect()
            await third.accepted()
            assert await third.closed() == 1013
            await third.leave()
            await first.leave()
            await hub.join()

    asyncio.run(play())


def test_a_socket_is_closed_when_its_token_expires(monkeypatch):
    class Issuer:
        """As `jwks.JwtVerifier` behaves: may ask the network, and refuses what has expired."""

        may_block = True
        is_expired = False

        def verify(self, credential):
            if self.is_expired or credential != "jwt":
                raise PinboxError("E_AUTH", "expired")
            return auth.Caller("page")

    issuer = Issuer()
    monkeypatch.setattr(auth, "verifier", cache(lambda: issuer))
    monkeypatch.setattr(sockets, "_RECHECK_S", 0.01)

    async def play():
        async with Process() as hub:
            socket = await hub.open(token="jwt")
            await socket.hello()
            assert (await socket.frame())["type"] == "catch-up"
            issuer.is_expired = True
            assert await socket.closed() == 4401

    asyncio.run(play())


# --- hello ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"protocol": 1},
        {"protocol": 2},
        {"protocol": 1.0},
        {"lastSeq": 0.0},
        {"anything": {"else": [1, 2]}},
        {"consumerId": "\u6e2c\u8a66"},
        {"logId": 7},
        {"logId": None},
    ],
)
def test_a_hello_may_say_more_than_it_must(said):
    async def play():
        async with Process() as hub:
            _, catch_up = await hub.join(**said)
            assert catch_up == {
                "type": "catch-up",
                "protocol": 1,
                "minProtocol": 1,
                "lastSeq": 0,
                "events": [],
            }

    asyncio.run(play())


GOOD = {"type": "hello", "protocol": 1, "consumerId": "c", "lastSeq": 0}


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hello",
        "ping",
        "[]",
        "{",
        "null",
        "[" * 4000,
        json.dumps({**GOOD, "more": "x" * consumers.MAX_HELLO_BYTES}),
        {**GOOD, "type": "event"},
        {"protocol": 1, "consumerId": "c", "lastSeq": 0},
        *({**GOOD, "protocol": bad} for bad in (0, -1, "1", 1.5, True, None, [])),
        *({**GOOD, "consumerId": bad} for bad in ("", 1, None, {})),
        *({**GOOD, "lastSeq": bad} for bad in (-1, 0.5, "0", False, None, [])),
        *({key: GOOD[key] for key in GOOD if key != left_out} for left_out in GOOD),
        b"\x00\x01",
    ],
    ids=lambda said: repr(said)[:50],
)
def test_anything_but_a_hello_is_answered_by_one_error_and_4400(said):
    async def play():
        async with Process() as hub:
            socket = await hub.open()
            if isinstance(said, bytes):
                await socket.put({"type": "websocket.receive", "bytes": said})
            else:
                await socket.say(said)
            error = await socket.frame()
            assert error.keys() == {"type", "code", "message"}
            assert (error["type"], error["code"]) == ("error", "E_WS_PROTOCOL")
            assert await socket.closed() == 4400
            assert hub.live.followers == 0

    asyncio.run(play())


def test_who_says_nothing_in_time_is_closed_with_4400():
    async def play():
        async with Process(hello_s=0.05) as hub:
            socket = await hub.open()
            assert await socket.closed() == 4400
            assert socket.is_silent()

    asyncio.run(play())


def test_nothing_is_sent_before_the_hello():
    async def play():
        async with Process() as hub:
            quiet = await hub.open()
            other, _ = await hub.join()
            await drop()
            assert (await other.frame())["seq"] == 1
            assert quiet.is_silent()
            await quiet.hello()
            assert [e["seq"] for e in (await quiet.frame())["events"]] == [1]

    asyncio.run(play())


def test_only_sockets_that_said_hello_count_as_connected_toolbars():
    async def play():
        async with Process() as hub:
            await hub.open()
            assert hub.live.followers == 0
            first, _ = await hub.join()
            await hub.join()
            assert hub.live.followers == 2
            await first.leave()
            assert hub.live.followers == 1

    asyncio.run(play())


def test_a_socket_that_need_not_keep_the_hub_does_not_and_is_no_toolbar():
    async def play():
        async with Process() as hub:
            await hub.join(keepsHub=False)
            assert (hub.live.followers, hub.live.keepers) == (1, 0)
            assert not hub.live.is_lively()
            await drop()  # nor does what happens
            assert not hub.live.is_lively()
            page, _ = await hub.join(keepsHub="false")  # which says nothing
            assert hub.live.is_lively()
            await page.leave()
            assert not hub.live.is_lively()

    asyncio.run(play())


# --- catch-up and live ----------------------------------------------------------------------------


def test_a_catch_up_has_every_event_after_the_cursor():
    async def play():
        async with Process() as hub:
            pins = await drop("one", "two", "three")
            _, everything = await hub.join()
            _, rest = await hub.join(2)
            _, nothing = await hub.join(3)
            return pins, everything, rest, nothing

    pins, everything, rest, nothing = asyncio.run(play())
    assert everything["events"] == stored()
    assert [e["payload"] for e in everything["events"]] == pins
    assert rest["events"] == stored()[2:]
    assert nothing["events"] == []
    assert {c["lastSeq"] for c in (everything, rest, nothing)} == {3}
    assert not any("hasMore" in c or "reset" in c for c in (everything, rest, nothing))


def test_an_event_reaches_every_socket():
    async def play():
        async with Process() as hub:
            joined = [(await hub.join())[0] for _ in range(3)]
            for number in range(5):
                await drop(f"pin {number}")
            return [[await socket.frame() for _ in range(5)] for socket in joined]

    assert asyncio.run(play()) == [stored()] * 3


def test_an_event_of_which_no_news_came_is_found_all_the_same():
    async def play():
        async with Process(hears_commits=False, look_every_s=0.05) as hub:
            socket, _ = await hub.join()
            await drop()
            return await socket.frame()

    assert [asyncio.run(play())] == stored()


@pytest.fixture
def reads(monkeypatch):
    """The places after which a page was read."""
    places = []
    read_page = live.read_page
    monkeypatch.setattr(
        live, "read_page", lambda *place: places.append(place[0]) or read_page(*place)
    )
    return places


def test_wrong_news_is_no_event_and_no_endless_reading(reads):
    async def play():
        async with Process(look_every_s=0.02) as hub:
            socket, _ = await hub.join()
            hub.live.newer(10**9)
            await drop("one")
            assert (await socket.frame())["seq"] == 1
            assert socket.is_silent()

    asyncio.run(play())
    assert len(reads) <= 3


def test_a_long_backlog_comes_in_bounded_frames():
    async def play():
        async with Process() as hub:
            # Counted in bytes, not in characters.
            await drop(*["x" * 20_000] * 10, "\u6e2c" * 20_000)
            socket, catch_up = await hub.join()
            assert catch_up["lastSeq"] == 11
            assert catch_up["hasMore"] is True
            events = catch_up["events"]
            sizes = [len(json.dumps(catch_up, ensure_ascii=False).encode())]
            while len(events) < 11:
                text = await socket.text()
                sizes.append(len(text.encode()))
                events.append(json.loads(text))
            assert max(sizes) <= 256 * 1024
            return events

    assert asyncio.run(play()) == stored()


def test_an_event_larger_than_a_page_has_a_frame_to_itself(monkeypatch):
    monkeypatch.setattr(live, "PAGE_BYTES", 1000)

    async def play():
        async with Process() as hub:
            await drop(*("x" * size for size in (10, 5000, 10, 10, 5000, 5000)))
            socket, catch_up = await hub.join(1)
            events = catch_up["events"]
            assert [e["seq"] for e in events] == [2]
            while len(events) < 5:
                events.append(await socket.frame())
            return events

    assert asyncio.run(play()) == stored()[1:]


def test_sockets_at_the_same_place_share_one_read(reads):
    async def play():
        async with Process() as hub:
            await drop()
            joined = [(await hub.join())[0] for _ in range(50)]
            await drop()
            for socket in joined:
                assert (await socket.frame())["seq"] == 2

    asyncio.run(play())
    assert reads == [0, 1]


def test_a_database_that_is_away_for_a_moment_costs_no_event(monkeypatch):
    monkeypatch.setattr(live, "_RETRY_S", 0.01)
    read_page = live.read_page
    failures = iter([OperationalError("gone"), OperationalError("gone")])

    def read(*place):
        for failure in failures:
            raise failure
        return read_page(*place)

    monkeypatch.setattr(live, "read_page", read)

    async def play():
        async with Process() as hub:
            socket, _ = await hub.join()
            await drop()
            return await socket.frame()

    assert [asyncio.run(play())] == stored()


# --- another log ----------------------------------------------------------------------------------


@pytest.mark.parametrize("last_seq", [3, 2**63, 10**30])
def test_a_cursor_beyond_the_log_is_told_to_begin_anew(last_seq):
    async def play():
        async with Process() as hub:
            await drop("one", "two")
            return (await hub.join(last_seq))[1]

    catch_up = asyncio.run(play())
    assert catch_up["reset"] is True
    assert catch_up["lastSeq"] == 2
    assert catch_up["events"] == stored()


def test_a_cursor_of_another_log_that_has_grown_since_is_told_to_begin_anew():
    async def play():
        async with Process() as hub:
            await drop("one", "two")
            _, known = await hub.join(1)
            _, same = await hub.join(1, logId=known["logId"])
            _, other = await hub.join(1, logId="of-another-log")
            return same, other

    same, other = asyncio.run(play())
    assert "reset" not in same
    assert [e["seq"] for e in same["events"]] == [2]
    assert other["reset"] is True
    assert [e["seq"] for e in other["events"]] == [1, 2]
    assert other["logId"] == same["logId"]


# --- what may not be said -------------------------------------------------------------------------


def test_a_stray_message_is_answered_once_and_the_socket_goes_on():
    async def play():
        async with Process() as hub:
            socket, _ = await hub.join()
            for stray in ("", "{}", "x" * 10_000, GOOD):
                await socket.say(stray)
                error = await socket.frame()
                assert (error["type"], error["code"]) == ("error", "E_WS_PROTOCOL")
            await socket.put({"type": "websocket.receive", "bytes": b"\0"})
            assert (await socket.frame())["type"] == "error"
            await drop()
            assert (await socket.frame())["seq"] == 1
            assert socket.is_silent()

    asyncio.run(play())


def test_a_flood_of_strays_ends_the_socket():
    async def play():
        async with Process() as hub:
            socket, _ = await hub.join()
            for _ in range(200):
                await socket.say("{}")
            answers = 0
            while (message := await socket.got())["type"] == "websocket.send":
                answers += 1
            assert message == {"type": "websocket.close", "code": 4400}
            assert answers == consumers.MAX_STRAYS + 1

    asyncio.run(play())


def test_a_ping_of_the_client_is_answered_but_not_a_flood_of_them():
    async def play():
        async with Process() as hub:
            socket, _ = await hub.join()
            await socket.say("ping")
            assert await socket.text() == "pong"
            await socket.say("ping")
            assert (await socket.frame())["type"] == "error"

    asyncio.run(play())


# --- how long a page keeps its hub ----------------------------------------------------------------


def test_a_page_on_which_nothing_happens_does_not_keep_its_hub_for_ever():
    now = 0.0

    async def play():
        nonlocal now
        async with Process(clock=lambda: now) as hub:
            assert not hub.live.is_lively()
            socket, _ = await hub.join()
            now = live.LIVELY_S - 1
            assert hub.live.is_lively()
            await drop()
            await socket.frame()
            now = 2 * live.LIVELY_S - 2
            assert hub.live.is_lively()
            now = 2 * live.LIVELY_S
            assert not hub.live.is_lively()
            await hub.join()
            assert hub.live.is_lively()

    asyncio.run(play())
