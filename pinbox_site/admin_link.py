"""The way into the admin: a link that logs one browser in, once.

`POST /admin-link` (`views.AdminLinks`, full token) makes it, `pinbox admin` prints it, the admin's
/admin/login-link takes it. Only a digest of its token is stored. See docs/security.md.
"""

import secrets
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_protect

from .models import AdminLink

#: How long a link waits for its click.
VALID_FOR: Final = timedelta(minutes=5)
#: The one user of the admin. It has no password and may only look.
USER: Final = "pinbox"


def make_link(now: datetime) -> tuple[str, datetime]:
    """A new token, and when it expires."""
    token = secrets.token_urlsafe(32)
    expires_at = now + VALID_FOR
    AdminLink.objects.filter(expires_at__lte=now).delete()
    AdminLink.objects.create(digest=_digest(token), expires_at=expires_at)
    return token, expires_at


def is_good(token: str, now: datetime) -> bool:
    return AdminLink.objects.filter(digest=_digest(token), expires_at__gt=now).exists()


def use_up(token: str, now: datetime) -> bool:
    """True for the one caller who gets there first, in time."""
    used, _ = AdminLink.objects.filter(digest=_digest(token), expires_at__gt=now).delete()
    return used == 1


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


# --- pages ----------------------------------------------------------------------------------------


@csrf_protect
def log_in(request: HttpRequest) -> HttpResponse:
    """GET shows a button, so that a program which only looks at the link does not use it up; the
    button logs in.
    """
    now = datetime.now(UTC)
    if request.method == "POST":
        if not use_up(request.POST.get("token", ""), now):
            return _page(request, "admin/link_gone.html", status=410)
        user, _ = User.objects.get_or_create(username=USER, defaults={"is_staff": True})
        _keep_harmless(user)
        request.session.clear_expired()
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        return redirect_to_overview()
    token = request.GET.get("token", "")
    if not is_good(token, now):
        return _page(request, "admin/link_gone.html", status=410)
    return _page(request, "admin/link.html", {"token": token})


def say_how(request: HttpRequest) -> HttpResponse:
    return _page(request, "admin/link_needed.html")


def redirect_to_overview() -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:index"))


def _keep_harmless(user: User) -> None:
    if user.has_usable_password() or not user.password:
        user.set_unusable_password()
        user.save(update_fields=["password"])


def _page(
    request: HttpRequest, template: str, context: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    from django.contrib.admin import site

    given = {**site.each_context(request), **(context or {})}
    response = render(request, template, given, status=status)
    # Not `no-referrer`: with it a browser sends `Origin: null` and the button's POST is refused.
    response["Referrer-Policy"] = "strict-origin"
    return response
