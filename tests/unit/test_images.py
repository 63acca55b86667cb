"""What bytes are an image, and how large it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pins.images import Image, image
from tests import images

SIZES = [(1, 1), (640, 480), (1280, 16383)]
FORMATS = [
    (images.png, "image/png"),
    (images.gif, "image/gif"),
    (images.jpeg, "image/jpeg"),
    (lambda w, h: images.jpeg(w, h, frame=0xC2), "image/jpeg"),
    (images.webp_lossy, "image/webp"),
    (images.webp_lossless, "image/webp"),
    (images.webp_extended, "image/webp"),
]
HEADS = [make(640, 480) for make, _ in FORMATS]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(("make", "content_type"), FORMATS)
def test_the_size_of_every_format_is_read(make, content_type, width, height):
    content = make(width, height)
    assert image(content) == Image(content_type, width, height)
    assert image(content + b"<script>alert(1)</script>" * 100) == Image(content_type, width, height)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"\xff\xd8" + b"\xff" * 5_000_000,
        b"\xff\xd8" + b"\xff\xe0\x00\x02" * 1_000_000,
        b"\xff\xd8\xff\xe0\x00\x00" * 100,
        b"RIFF\x10\x00\x00\x00WAVEfmt ",
        images.gif(0, 5),
        images.webp_lossy(5, 0),
        b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
        b"BM" + bytes(60),
    ],
)
def test_what_has_no_readable_size_is_no_image(content):
    assert image(content) is None


@given(st.sampled_from(HEADS), st.data())
def test_no_bytes_make_it_fail(head, data):
    cut = data.draw(st.integers(0, len(head)))
    found = image(head[:cut] + data.draw(st.binary(max_size=40)))
    assert found is None or (found.width > 0 and found.height > 0)
