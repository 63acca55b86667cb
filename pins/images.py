"""What kind of image bytes are, and how large: read from the head, without decoding anything.

Four formats, each as its specification has it. A library that knows forty of them is larger than
the rest of the hub's parsing, and walks a hostile JPEG byte by byte.
"""

import struct
from typing import Final, NamedTuple

#: Segments of a JPEG before the one that has its size; cameras write about a dozen.
_MAX_SEGMENTS: Final = 500
#: JPEG markers "start of frame": all of C0 to CF but those that mean something else.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class Image(NamedTuple):
    """`content_type` and size in pixels, as stored: a camera's rotation is not applied."""

    content_type: str
    width: int
    height: int


def image(content: bytes) -> Image | None:
    """None for anything but a PNG, JPEG, WebP or GIF whose size can be read and is not nothing."""
    for content_type, magic, size_of in _FORMATS:
        if content.startswith(magic):
            try:
                width, height = size_of(content)
            except (struct.error, IndexError, ValueError):
                return None
            return Image(content_type, width, height) if width and height else None
    return None


def _png(content: bytes) -> tuple[int, int]:
    if content[12:16] != b"IHDR":
        raise ValueError("no header")
    width, height = struct.unpack_from(">II", content, 16)
    if max(width, height) >= 2**31:
        raise ValueError("larger than the format allows")
    return width, height


def _gif(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", content, 6)
    return width, height


def _jpeg(content: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if content[at] != 0xFF:
            raise ValueError("no marker")
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", content, at + 2)
            at += 2 + length
    raise ValueError("no frame")


def _webp(content: bytes) -> tuple[int, int]:
    match content[8:16]:
        case b"WEBPVP8 ":
            if content[23:26] != b"\x9d\x01\x2a":
                raise ValueError("no key frame")
            width, height = struct.unpack_from("<HH", content, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"WEBPVP8L":
            if content[20] != 0x2F:
                raise ValueError("no signature")
            (bits,) = struct.unpack_from("<I", content, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"WEBPVP8X":
            width, height = content[24:27], content[27:30]
            if len(height) < 3:
                raise ValueError("cut off")
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
    raise ValueError("another RIFF file")


_FORMATS: Final = (
    ("image/png", b"\x89PNG\r\n\x1a\n", _png),
    ("image/jpeg", b"\xff\xd8", _jpeg),
    ("image/webp", b"RIFF", _webp),
    ("image/gif", b"GIF87a", _gif),
    ("image/gif", b"GIF89a", _gif),
)
