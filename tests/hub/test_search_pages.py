"""Searching page by page finds what searching at once finds, in the same order."""

import random

import pytest

pytestmark = pytest.mark.django_db

AUTHOR = {"userId": "k3j9x0a1bz"}
WORDS = ("button", "footer", "POL-358", "C++", "no", "日本語", "x")
QUERIES = (
    *("button", "BUTTON", "no", "x", "C++", "日本語", "本", "pol-358", "zebra", "zq"),
    *("button footer", "footer no", "button no x", "c++ 日本", "button zebra", "x zq", " "),
)


@pytest.fixture
def many_pins(hub):
    """Pins whose words are spread over their texts and threads; some are resolved."""
    dice = random.Random(20261130)
    for number in range(30):
        text = f"#{number} " + " ".join(dice.sample(WORDS, dice.randrange(3)))
        pin = hub.post("/pins", {"text": text, "author": AUTHOR})[1]
        for _ in range(dice.randrange(3)):
            message = {"role": "human", "text": "and " + dice.choice(WORDS)}
            hub.post(f"/pins/{pin['id']}/thread", message)
        if dice.random() < 0.4:
            hub.post(f"/pins/{pin['id']}/resolve", {"by": "human"})


def walked(hub, query, direction, start, limit):
    """Ids of all pages in the order in which they were read, each page's own order kept."""
    found, cursor = [], start
    while True:
        status, page = hub.get(f"/pins?{query}&limit={limit}&{direction}={cursor}")
        assert status == 200
        assert len(page) <= limit
        if not page:
            return found
        ids = [pin["id"] for pin in page]
        found.append(ids)
        cursor = ids[-1] if direction == "before" else ids[0]


@pytest.mark.parametrize("status", ["", "&status=open", "&status=resolved"])
def test_pages_of_a_search_together_are_the_whole_search(hub, many_pins, status):
    everything = [pin["id"] for pin in hub.get("/pins")[1]]
    found_something = 0
    for words in QUERIES:
        query = f"search={words.replace(' ', '%20').replace('+', '%2B')}{status}"
        whole = [pin["id"] for pin in hub.get(f"/pins?{query}")[1]]
        found_something += bool(whole)
        assert [pin["id"] for pin in hub.get(f"/pins?{query}&limit=1000")[1]] == whole
        newest, oldest = everything[0], everything[-1]
        for limit in (1, 4):
            older = [id for page in walked(hub, query, "before", newest, limit) for id in page]
            assert older == [id for id in whole if id != newest]
            newer = [
                id for page in reversed(walked(hub, query, "after", oldest, limit)) for id in page
            ]
            assert newer == [id for id in whole if id != oldest]
    assert found_something > 5
