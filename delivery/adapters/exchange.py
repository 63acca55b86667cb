"""One HTTP request to another machine, over within its deadline whatever the other side does.

httpx bounds each single read and write, which a server that sends a byte a second passes for ever.
So the request runs on an event loop of its own, where the deadline cancels whatever it waits for.
Redirects are not followed; what is read of an answer is bounded; certificates are checked.
"""

import asyncio
import logging
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import pinbox
from delivery import configuration

from . import MAX_OUTPUT_BYTES, DeliveryFailed

#: Seconds for the rest of an answer whose status is known: it changes nothing any more.
_BODY_S: Final = 2.0
#: Seconds between two looks whether the hub leaves.
_LOOK_S: Final = 0.1
#: Seconds that closing a connection may take after the deadline.
_GRACE_S: Final = 0.5
#: What `exchange` may take beyond its deadline: that, and to set up a loop on a busy machine.
OVERHEAD_S: Final = 2.0
#: The longest wait that another machine may ask for.
MAX_RETRY_AFTER_S: Final = 3600.0

#: At INFO it says the whole address of every request, of which a part can be a secret.
_LOG: Final = logging.getLogger("httpx")


@dataclass(slots=True, kw_only=True)
class Answer:
    """`headers` by lower-case name; `body` as it came, from its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def text(self) -> str:
        """The body as words that can be kept with an attempt."""
        if self.headers.get("content-encoding", "identity") != "identity":
            return ""
        words = self.body.decode("utf-8", "replace").replace("\0", "\ufffd")
        return words.encode()[:MAX_OUTPUT_BYTES].decode("utf-8", "ignore")

    @property
    def retry_after_s(self) -> float | None:
        return retry_after_s(self.headers.get("retry-after", ""), now=datetime.now(UTC))


def retry_after_s(value: str, *, now: datetime) -> float | None:
    """Seconds until the moment a Retry-After header names, 0 to MAX_RETRY_AFTER_S; None when it is
    neither a number nor a date.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:10]), MAX_RETRY_AFTER_S)
    try:
        moment = parsedate_to_datetime(value)
        wait_s = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait_s.total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def exchange(
    url: str,
    *,
    whom: str,
    content: bytes,
    headers: Mapping[str, str],
    deadline_s: float,
    stop: threading.Event,
    max_body: int = MAX_OUTPUT_BYTES,
) -> Answer:
    """POST `content`; of the answer at most `max_body` bytes are read. Raises DeliveryFailed, of
    reason network, timeout, missing or stopped, in words that name `whom` and the host, and nothing
    else of the address.
    """
    request = _Request(url=url, content=content, headers=headers, max_body=max_body)
    who = f"{whom} at {place(url)}"
    loop = _Loop()
    try:
        loop.run_until_complete(_bounded(request, deadline_s, stop))
        loop.run_until_complete(loop.leave())
    finally:
        loop.close()
    if request.answer:
        return request.answer
    if request.error:
        raise _failed(request.error, who, request.is_sent)
    if stop.is_set():
        raise DeliveryFailed(
            f"the hub left before {who} had answered",
            reason="stopped",
            may_have_arrived=request.is_sent,
        )
    raise DeliveryFailed(
        f"{who} did not answer within {deadline_s:g} s",
        reason="timeout",
        may_have_arrived=request.is_sent,
    )


def place(url: str) -> str:
    """Host and port of an address: all of it that may be shown, for the rest can be a secret."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port}" if parts.port else f"{host}"


# --- the request itself ---------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Request:
    """One request, and how far it came."""

    url: str
    content: bytes
    headers: Mapping[str, str]
    max_body: int
    is_sent: bool = False
    answer: Answer | None = None
    error: Exception | None = None

    async def run(self) -> None:
        try:
            await self._run()
        except Exception as error:  # told apart by `_failed`
            self.error = error

    async def _run(self) -> None:
        import httpx  # a third of a second, which the start of the hub does without

        _LOG.setLevel(logging.WARNING)
        # A proxy of the environment is for the way out, never for this machine itself.
        is_here = configuration.is_loopback(urlsplit(self.url).hostname or "")
        async with (
            httpx.AsyncClient(verify=_trusted(), trust_env=not is_here, timeout=None) as client,  # noqa: S113 - bounded as a whole
            client.stream(
                "POST",
                self.url,
                content=self.content,
                headers={
                    "user-agent": f"pinbox/{pinbox.__version__}",
                    "accept-encoding": "identity",
                    **self.headers,
                },
                extensions={"trace": self._trace},
            ) as response,
        ):
            self.answer = Answer(status=response.status_code, headers=dict(response.headers))
            body = bytearray()
            with suppress(TimeoutError, httpx.HTTPError):
                async with asyncio.timeout(_BODY_S):
                    async for chunk in response.aiter_raw():
                        body += chunk
                        self.answer.body = bytes(body[: self.max_body])
                        if len(body) >= self.max_body:
                            break

    async def _trace(self, step: str, info: object) -> None:
        if step.endswith(".send_request_headers.started"):
            self.is_sent = True


async def _bounded(request: _Request, deadline_s: float, stop: threading.Event) -> None:
    """Run the request until it ends, the time is over or the hub leaves. Never raises."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline_s
    task = asyncio.create_task(request.run())
    while not stop.is_set() and (left_s := end - loop.time()) > 0:
        await asyncio.wait({task}, timeout=min(left_s, _LOOK_S))
        if task.done():
            break
    else:
        task.cancel()
        await asyncio.wait({task}, timeout=_GRACE_S)


class _Loop(asyncio.SelectorEventLoop):
    """Looks names up in a thread that nobody waits for: it cannot be told to stop. Closes whatever
    a request left open: one that is cancelled in the middle of a handshake does.
    """

    def __init__(self) -> None:
        super().__init__()
        self._opened: list[asyncio.Transport] = []

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        transport, protocol = await super().create_connection(*arguments, **options)
        self._opened.append(transport)
        return transport, protocol

    async def leave(self) -> None:
        await self.shutdown_asyncgens()
        for transport in self._opened:
            transport.abort()
        await asyncio.sleep(0)  # each is told in the next round of the loop

    async def getaddrinfo(self, *arguments: Any, **options: Any) -> Any:
        found: asyncio.Future[Any] = self.create_future()

        def tell(result: object, error: Exception | None) -> None:
            if found.cancelled():
                return
            if error:
                found.set_exception(error)
            else:
                found.set_result(result)

        def look_up() -> None:
            result, error = None, None
            try:
                result = socket.getaddrinfo(*arguments, **options)
            except Exception as caught:
                error = caught
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.call_soon_threadsafe(tell, result, error)

        threading.Thread(target=look_up, name="look up a host", daemon=True).start()
        return await found


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities of `SSL_CERT_FILE` or `SSL_CERT_DIR`, else those that come with httpx."""
    import httpx

    return httpx.create_ssl_context()


# --- what went wrong ------------------------------------------------------------------------------


def _failed(error: Exception, who: str, is_sent: bool) -> DeliveryFailed:
    import httpx

    if isinstance(error, ImportError):
        return DeliveryFailed(
            f"{who} cannot be called: the environment names a SOCKS proxy, and the package socksio"
            " is not installed",
            reason="missing",
        )
    if isinstance(error, httpx.ProxyError):
        return DeliveryFailed(f"the proxy on the way to {who} refused", reason="network")
    if isinstance(error, httpx.ConnectError):
        return DeliveryFailed(f"{who} cannot be reached: {_why(error)}", reason="network")
    if isinstance(error, httpx.TransportError):
        return DeliveryFailed(
            f"{who} broke off the connection or speaks no HTTP",
            reason="network",
            may_have_arrived=is_sent,
        )
    return DeliveryFailed(
        f"{who} cannot be called: {type(error).__name__}",
        reason="network",
        may_have_arrived=is_sent,
    )


def _why(error: BaseException) -> str:
    """The system's own word for it, which holds no part of the address."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its certificate is not trusted"
        if isinstance(cause, ssl.SSLError):
            return "it speaks no TLS that is understood here"
        if isinstance(cause, socket.gaierror):
            return "its name is not known"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower()
        cause = cause.__cause__ or cause.__context__
    return "no connection"
