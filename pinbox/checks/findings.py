"""What one check found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`detail` says what was seen; `hint` is the next command or step, where one is needed.

    ok: it was done and it works. warn: it works, or may work, but not as one would want. skip:
    there is nothing to look at here. fail: it does not work.
    """

    name: str
    status: Literal["ok", "warn", "skip", "fail"]
    detail: str
    hint: str | None = None


def ok(name: str, detail: str) -> Finding:
    return Finding(name=name, status="ok", detail=detail)


def skip(name: str, detail: str) -> Finding:
    return Finding(name=name, status="skip", detail=detail)


def warn(name: str, detail: str, hint: str) -> Finding:
    return Finding(name=name, status="warn", detail=detail, hint=hint)


def fail(name: str, detail: str, hint: str) -> Finding:
    return Finding(name=name, status="fail", detail=detail, hint=hint)
