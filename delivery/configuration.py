"""What the environment says of delivery: one typed reader for each setting.

A reader raises PinboxError E_INVALID_INPUT, and its message never holds a value: addresses and
secrets are among them. `problems` is what system checks and /health ask. Imports nothing heavy,
for it is read while the hub starts.
"""

import base64
import binascii
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pinbox.agents.resume import Permissions
from pinbox.contract import PinboxError

#: How Standard Webhooks writes a secret: this, and then base64.
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - no secret, but how one begins

_YES: Final = frozenset(("1", "on", "yes", "true"))
_NO: Final = frozenset(("0", "off", "no", "false"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Where events are posted to, and what signs them: the newest secret first."""

    url: str
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaw:
    """The gateway's base address, without a slash at its end, its token for hooks, and the one of
    the gateway itself, which may ask whether a session exists.
    """

    url: str
    token: str
    gateway_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One setting that cannot be used; `id` is that of the system check."""

    id: str
    message: str
    hint: str


# --- escalation -----------------------------------------------------------------------------------

#: Milliseconds after which a pull that nobody collects moves on to the next adapter.
DEFAULT_ESCALATE_MS: Final = 600_000
#: The longest time that a setting may name: 30 days.
_LONGEST_MS: Final = 30 * 24 * 3600 * 1000


def escalate_after(environ: Mapping[str, str] = os.environ) -> timedelta:
    """PINBOX_HOOKS_ESCALATE_MS."""
    return milliseconds(environ, "PINBOX_HOOKS_ESCALATE_MS", default=DEFAULT_ESCALATE_MS)


# --- webhook --------------------------------------------------------------------------------------


def webhook(environ: Mapping[str, str] = os.environ) -> Webhook | None:
    """PINBOX_WEBHOOK_URL with PINBOX_WEBHOOK_SECRET; None when neither is set."""
    url, secrets = webhook_url(environ), webhook_secrets(environ)
    if url and not secrets:
        raise _wrong(
            "PINBOX_WEBHOOK_URL is set without PINBOX_WEBHOOK_SECRET",
            "Set a secret to sign with, for example the output of `openssl rand -hex 32`.",
        )
    if secrets and not url:
        raise _wrong(
            "PINBOX_WEBHOOK_SECRET is set without PINBOX_WEBHOOK_URL",
            "Set the address to post to, or unset the secret.",
        )
    return Webhook(url=url, secrets=secrets) if url else None


def webhook_url(environ: Mapping[str, str] = os.environ) -> str:
    """Where to post, or ""."""
    url = _read(environ, "PINBOX_WEBHOOK_URL")
    if url:
        is_private = webhook_allow_http(environ) or _is_private(_parts(url, "PINBOX_WEBHOOK_URL"))
        if not is_private:
            raise _wrong(
                "PINBOX_WEBHOOK_URL is plain http to another machine: everyone on the way could"
                " read the pins",
                "Use https, or set PINBOX_WEBHOOK_ALLOW_HTTP=1 if the network itself is private.",
            )
    return url


def webhook_secrets(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """PINBOX_WEBHOOK_SECRET: several are separated by white space."""
    secrets = tuple(environ.get("PINBOX_WEBHOOK_SECRET", "").split())
    for secret in secrets:
        signing_key(secret)
    return secrets


def signing_key(secret: str) -> bytes:
    """The key behind a secret of Standard Webhooks; one without its prefix is taken as it is."""
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode("utf-8", "surrogateescape")
    text = secret.removeprefix(SECRET_PREFIX).rstrip("=")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise _wrong(
            f"PINBOX_WEBHOOK_SECRET begins with {SECRET_PREFIX}, but base64 does not follow",
            f'Make one with `echo "{SECRET_PREFIX}$(openssl rand -base64 32)"`.',
        )
    return key


def webhook_allow_http(environ: Mapping[str, str] = os.environ) -> bool:
    """PINBOX_WEBHOOK_ALLOW_HTTP: plain http may leave this machine."""
    return flag(environ, "PINBOX_WEBHOOK_ALLOW_HTTP", default=False)


# --- openclaw -------------------------------------------------------------------------------------


def openclaw(environ: Mapping[str, str] = os.environ) -> OpenClaw | None:
    """PINBOX_OPENCLAW_URL with PINBOX_OPENCLAW_TOKEN, and PINBOX_OPENCLAW_GATEWAY_TOKEN, which is
    the same unless set; None when none is set.
    """
    url, token = openclaw_url(environ), openclaw_token(environ)
    gateway_token = openclaw_gateway_token(environ)
    if bool(url) != bool(token) or (gateway_token and not url):
        raise _wrong(
            "PINBOX_OPENCLAW_URL and PINBOX_OPENCLAW_TOKEN go together, and one is missing",
            "Set both, or neither: then the program `openclaw` is used.",
        )
    if not url:
        return None
    return OpenClaw(url=url, token=token, gateway_token=gateway_token or token)


def openclaw_url(environ: Mapping[str, str] = os.environ) -> str:
    """The gateway's base address without a slash at its end, or ""."""
    url = _read(environ, "PINBOX_OPENCLAW_URL")
    if url:
        parts = _parts(url, "PINBOX_OPENCLAW_URL")
        if not _is_private(parts):
            raise _wrong(
                "PINBOX_OPENCLAW_URL is plain http to another machine: everyone on the way could"
                " read its token",
                "Use https, or a tunnel that ends on this machine.",
            )
        if parts.query or parts.fragment or parts.username is not None:
            raise _wrong(
                "PINBOX_OPENCLAW_URL has more than a host, a port and a path",
                "Give the gateway's base address, such as http://127.0.0.1:18789.",
            )
    return url.rstrip("/")


def openclaw_token(environ: Mapping[str, str] = os.environ) -> str:
    """The token in the gateway's own setting `hooks.token`, or ""."""
    return _token(environ, "PINBOX_OPENCLAW_TOKEN", "hooks.token")


def openclaw_gateway_token(environ: Mapping[str, str] = os.environ) -> str:
    """The token in the gateway's own setting `gateway.auth.token`, or ""."""
    return _token(environ, "PINBOX_OPENCLAW_GATEWAY_TOKEN", "gateway.auth.token")


def _token(environ: Mapping[str, str], name: str, setting: str) -> str:
    token = _read(environ, name)
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise _wrong(
            f"{name} has characters that no header can carry",
            f"Give the token of the gateway's setting {setting}.",
        )
    return token


# --- codex ----------------------------------------------------------------------------------------


def codex_queue(environ: Mapping[str, str] = os.environ) -> bool:
    """PINBOX_CODEX_QUEUE: a Codex session that waits for a person is woken for what is new."""
    return flag(environ, "PINBOX_CODEX_QUEUE", default=False)


# --- resume ---------------------------------------------------------------------------------------

#: Milliseconds that a resumed agent may work.
DEFAULT_RESUME_TIMEOUT_MS: Final = 900_000
_PERMISSIONS: Final[dict[str, Permissions]] = {
    "": "",
    "none": "",
    "edit": "edit",
    "edit+network": "edit+network",
}
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def resume_is_on(environ: Mapping[str, str] = os.environ) -> bool:
    """PINBOX_RESUME. A team's hub resumes nothing unless told to: its sessions are on other
    machines.
    """
    is_team = bool(_read(environ, "PINBOX_ALLOWED_HOSTS"))
    return flag(environ, "PINBOX_RESUME", default=not is_team)


def resume_timeout(environ: Mapping[str, str] = os.environ) -> timedelta:
    """PINBOX_RESUME_TIMEOUT_MS."""
    return milliseconds(environ, "PINBOX_RESUME_TIMEOUT_MS", default=DEFAULT_RESUME_TIMEOUT_MS)


def resume_permissions(environ: Mapping[str, str] = os.environ) -> Permissions:
    """PINBOX_RESUME_PERMISSIONS."""
    word = _read(environ, "PINBOX_RESUME_PERMISSIONS").lower()
    if word not in _PERMISSIONS:
        raise _wrong(
            "PINBOX_RESUME_PERMISSIONS is neither none nor edit nor edit+network",
            "Unset it for none; docs/configuration.md says what each allows.",
        )
    return _PERMISSIONS[word]


def resume_variables(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """PINBOX_RESUME_ENV: names of variables that a resumed agent gets beside the usual ones."""
    names = tuple(_read(environ, "PINBOX_RESUME_ENV").replace(",", " ").split())
    if not all(_VARIABLE.fullmatch(name) for name in names):
        raise _wrong(
            "PINBOX_RESUME_ENV is not a list of names of environment variables",
            "Give names alone, such as `SSH_AUTH_SOCK MISTRAL_API_KEY`.",
        )
    return names


# --- all of them ----------------------------------------------------------------------------------

#: Id of the system check -> the reader that says what is wrong.
_CHECKED: Final[dict[str, Callable[[Mapping[str, str]], object]]] = {
    "pinbox.E010": webhook,
    "pinbox.E011": openclaw,
    "pinbox.E012": escalate_after,
    "pinbox.E013": resume_is_on,
    "pinbox.E014": resume_timeout,
    "pinbox.E015": resume_permissions,
    "pinbox.E016": resume_variables,
    "pinbox.E017": codex_queue,
}


def problems(environ: Mapping[str, str] = os.environ) -> list[Problem]:
    """Every setting that cannot be used."""
    found = []
    for check_id, read in _CHECKED.items():
        try:
            read(environ)
        except PinboxError as error:
            found.append(Problem(id=check_id, message=error.message, hint=error.hint or ""))
    return found


# --- reading --------------------------------------------------------------------------------------


def flag(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    """A setting that is on or off."""
    word = _read(environ, name).lower()
    if word in _YES or word in _NO:
        return word in _YES
    if word:
        raise _wrong(f"{name} is neither on nor off", f"Set {name} to 1 or 0.")
    return default


def milliseconds(environ: Mapping[str, str], name: str, *, default: int) -> timedelta:
    """A setting that is a time: a whole number of milliseconds, from 1 to 30 days."""
    text = _read(environ, name) or str(default)
    if not (text.isascii() and text.isdigit() and 0 < int(text[:12]) <= _LONGEST_MS >= int(text)):
        raise _wrong(
            f"{name} is not a number of milliseconds from 1 to {_LONGEST_MS} (30 days)",
            f"Unset it for the default of {default}.",
        )
    return timedelta(milliseconds=int(text))


def _read(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


def _parts(url: str, name: str) -> SplitResult:
    """The parts of an address that can be called."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError when it is not a number
    except ValueError:
        parts = urlsplit("")
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if not is_plain or parts.scheme not in ("http", "https") or not parts.hostname:
        raise _wrong(f"{name} is not an address", "Give one as https://app.example/path.")
    return parts


def _is_private(parts: SplitResult) -> bool:
    """Whether nobody on the way can read along."""
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its own name."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wrong(message: str, hint: str) -> PinboxError:
    return PinboxError("E_INVALID_INPUT", message, hint)
