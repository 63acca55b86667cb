"""What people attach: stored under an id in the project's `.pinbox/media`, referred to by that id,
read back by whoever has a token or an address that was signed for a while.

An agent opens these files, so nobody but the hub says where one is: an event holds id, kind, type
and size, and `filled` adds address and path as it leaves.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from pinbox import project
from pinbox.contract import ATTACHMENT_ID, MAX_ATTACHMENT_BYTES, PinboxError, new_id

from .event_log import writer
from .images import image
from .models import Attachment

#: content type -> ending of the file's name, by which an agent knows what it opens.
_ENDINGS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/gif": "gif",
    "text/plain": "txt",
}
#: Anything else. It is kept and can be fetched, and nobody is told what it may be.
_OTHER: Final = "application/octet-stream"
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")

#: How long an upload is kept that no pin refers to, and how many of them there may be.
KEPT_UNUSED: Final = timedelta(days=1)
MAX_UNUSED: Final = 200
#: Seconds between two looks for files that have no row.
_LOOK_EVERY_S: Final = 3600.0

#: An address is good for one to one and a half hours. It stays the same for half an hour, so that a
#: browser need not fetch the picture again.
_STEP_S: Final = 1800
_STEPS: Final = 3

_ID: Final = re.compile(ATTACHMENT_ID)
#: As `path_of` names a file, and `private_write` one that is not whole yet.
_FILE: Final = re.compile(rf"({ATTACHMENT_ID})\.[a-z]+(?:\.tmp-.+)?")
#: Only the hub writes these members next to each other: in a text, the quotes would be escaped.
REFERENCE: Final = '"url":"/media/att_'
_REFERENCE: Final = re.compile(
    rf'"url":"/media/({ATTACHMENT_ID})","contentType":"([a-z]+/[a-z-]+)"'
)


def _type_of(content: bytes) -> str:
    """What the bytes of no image are."""
    if _CONTROL.search(content) is not None:
        return _OTHER
    try:
        content.decode()
    except UnicodeDecodeError:
        return _OTHER
    return "text/plain"


# --- in -------------------------------------------------------------------------------------------


def store(*, kind: str, content: bytes, now: datetime) -> dict[str, Any]:
    """Keep an upload; its wire form. Raises E_ATTACHMENT for too much, E_INVALID_INPUT for nothing,
    or for a screenshot that is no image.
    """
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise PinboxError(
            "E_ATTACHMENT",
            f"the attachment is larger than {MAX_ATTACHMENT_BYTES:,} bytes",
            "Send a smaller one.",
        )
    if not content:
        raise PinboxError("E_INVALID_INPUT", "the body is empty", "Send the bytes of the file.")
    found = image(content)
    if kind == Attachment.Kind.SCREENSHOT and found is None:
        raise PinboxError(
            "E_INVALID_INPUT",
            "the body is no PNG, JPEG, WebP or GIF image",
            "Send it with kind=file to attach it as it is.",
        )
    row = Attachment(
        id=new_id("att"),
        kind=kind,
        content_type=found.content_type if found else _type_of(content),
        width=found.width if found else None,
        height=found.height if found else None,
        created_at=now,
    )
    sweep(now)
    path = path_of(row.id, row.content_type)
    _make_folder()
    project.private_write(path, content)  # first the bytes: a row never lacks them
    try:
        with writer():
            if Attachment.objects.filter(is_used=False).count() >= MAX_UNUSED:
                raise PinboxError(
                    "E_ATTACHMENT",
                    f"{MAX_UNUSED} uploads already wait for a pin that refers to them",
                    "Drop the pins they are for; what no pin refers to is removed after a day.",
                )
            row.save(force_insert=True)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return _document(row)


def adopt(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a client sent, with each attachment as the hub knows it; inside `writer()`. Raises
    E_INVALID_INPUT for one that was not uploaded.
    """
    given = data.get("attachments")
    if not given:
        return data
    ids = list(dict.fromkeys(item["id"] for item in given))
    rows = Attachment.objects.in_bulk([one for one in ids if _ID.fullmatch(one)])
    for number, item in enumerate(given):
        if item["id"] not in rows:
            raise PinboxError(
                "E_INVALID_INPUT",
                f"attachments.{number}.id: is no upload of this hub",
                "POST /attachments gives the id; what no pin refers to is removed after a day",
            )
    Attachment.objects.filter(pk__in=ids, is_used=False).update(is_used=True)
    return {**data, "attachments": [_document(rows[one]) for one in ids]}


def _document(row: Attachment) -> dict[str, Any]:
    """As it is stored. `filled` knows the order."""
    sizes = {} if row.width is None else {"width": row.width, "height": row.height}
    return {
        "id": row.id,
        "kind": str(row.kind),
        "url": f"/media/{row.id}",
        "contentType": row.content_type,
        **sizes,
    }


_looked_at: float | None = None


def sweep(now: datetime) -> None:
    """Remove what nothing refers to and has not for a day: rows with their files, and files that a
    crash left without a row.
    """
    with writer():
        old = list(Attachment.objects.filter(is_used=False, created_at__lt=now - KEPT_UNUSED))
        Attachment.objects.filter(pk__in=[row.pk for row in old]).delete()
        paths = [path_of(row.id, row.content_type) for row in old]
        transaction.on_commit(lambda: _unlink(paths))
    global _looked_at
    if _looked_at is None or time.monotonic() - _looked_at >= _LOOK_EVERY_S:
        _looked_at = time.monotonic()
        _unlink(_orphans(now))


def _orphans(now: datetime) -> list[Path]:
    """Only what has a name of ours: the folder may be a link to one that holds other things too."""
    before = (now - KEPT_UNUSED).timestamp()
    try:
        named = {
            Path(entry.path): found[1]
            for entry in os.scandir(_folder())
            if (found := _FILE.fullmatch(entry.name))
            and entry.is_file(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_mtime < before
        }
    except OSError:  # there is no folder yet, or another process was quicker
        return []
    known = set(Attachment.objects.filter(pk__in=named.values()).values_list("pk", flat=True))
    return [path for path, name in named.items() if name not in known]


def _unlink(paths: list[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):  # gone already, or it will be tried again
            path.unlink()


# --- where they lie -------------------------------------------------------------------------------


def _folder() -> Path:
    return Path(settings.PROJECT_DIR) / project.FOLDER / "media"


def _make_folder() -> None:
    project.pinbox_dir(settings.PROJECT_DIR)
    folder = _folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def path_of(attachment_id: str, content_type: str) -> Path:
    """The file with its bytes, on the hub's own machine."""
    return _folder() / f"{attachment_id}.{_ENDINGS.get(content_type, 'bin')}"


# --- out ------------------------------------------------------------------------------------------


@cache
def are_readers_here() -> bool:
    """Whether a path of this machine means anything to an agent: not where a team shares a hub."""
    return not os.environ.get("PINBOX_ALLOWED_HOSTS", "").strip()


class Stored(NamedTuple):
    content: bytes
    content_type: str
    #: A browser may show it; anything else it may only save.
    is_image: bool
    name: str


def read(attachment_id: str) -> Stored:
    """Raises E_NOT_FOUND."""
    row = Attachment.objects.filter(pk=attachment_id).first()
    try:
        if row is None:
            raise FileNotFoundError
        path = path_of(row.id, row.content_type)
        content = path.read_bytes()
    except FileNotFoundError:
        raise PinboxError(
            "E_NOT_FOUND",
            f"there is no attachment {attachment_id}",
            "an upload that no pin refers to is removed after a day",
        ) from None
    return Stored(content, row.content_type, row.width is not None, path.name)


def filled(text: str, now: float, *, with_path: bool = False) -> str:
    """JSON that leaves the hub, with an address that is good for a while in each attachment, and
    for the agents of this machine the path of its file.
    """
    if REFERENCE not in text:
        return text

    def fill(found: re.Match[str]) -> str:
        attachment_id, content_type = found.groups()
        url = f'"url":"{address(attachment_id, now)}","contentType":"{content_type}"'
        if not with_path:
            return url
        return f'"path":{json.dumps(str(path_of(attachment_id, content_type)))},{url}'

    return _REFERENCE.sub(fill, text)


def address(attachment_id: str, now: float) -> str:
    """Relative to the hub's root. `now` is in seconds since 1970."""
    expires = (int(now) // _STEP_S + _STEPS) * _STEP_S
    signature = _signature(attachment_id, expires)
    return f"/media/{attachment_id}?expires={expires}&signature={signature}"


def seconds_left(attachment_id: str, expires: str, signature: str, now: float) -> int:
    """How long this address is still good. Raises E_AUTH (403) for one that is not."""
    until = int(expires) if re.fullmatch("[0-9]{1,12}", expires) else 0
    if until < now or not constant_time_compare(_signature(attachment_id, until), signature):
        raise PinboxError(
            "E_AUTH",
            "this address is not good, or not any more",
            "read the pin or its thread again: it has a fresh one",
            status=403,
        )
    return until - int(now)


def _signature(attachment_id: str, expires: int) -> str:
    return salted_hmac(
        "pinbox.media", f"{attachment_id}.{expires}", algorithm="sha256"
    ).hexdigest()[:32]
