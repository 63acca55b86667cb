"""What this process is: its project, tokens and instance id. Installed once by `serve`, read by
auth and /health.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """`token` may do everything; `page_token` only what a page needs. Both empty = no token
    strategy.
    """

    project_dir: Path | None
    token: str
    page_token: str
    instance: str
    started_at: str


_current = Runtime(project_dir=None, token="", page_token="", instance="", started_at="")


def current() -> Runtime:
    return _current


def install(runtime: Runtime) -> None:
    global _current
    _current = runtime
