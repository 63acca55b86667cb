"""Pictures of a given size in each format that may be attached: heads as the formats have them."""

import struct
import zlib


def png(width, height):
    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" * (width + 1)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif(width, height):
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + b";"


def jpeg(width, height, frame=0xC0):
    """With what a camera puts before the frame, and padding between two segments."""
    exif = b"\xff\xe1" + struct.pack(">H", 2 + 600) + b"Exif\0\0" + b"\xff\xc0" * 297
    table = b"\xff\xff\xff\xdb" + struct.pack(">H", 2 + 65) + bytes(65)
    size = struct.pack(">BHH", 8, height, width)
    return b"\xff\xd8" + exif + table + bytes([0xFF, frame]) + b"\x00\x11" + size + b"\xff\xd9"


def webp_lossy(width, height):
    frame = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return _riff(b"VP8 ", frame)


def webp_lossless(width, height):
    return _riff(b"VP8L", b"\x2f" + struct.pack("<I", (height - 1) << 14 | (width - 1)))


def webp_extended(width, height):
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(b"VP8X", bytes(4) + size)


def _riff(kind, data):
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
