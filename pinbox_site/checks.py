"""`manage.py check`: a wrong set-up of the host, each with an id and what to do."""

import os
from collections.abc import Sequence
from typing import Any

from django.core import checks

from pinbox.contract import PinboxError

from . import auth, gate, idle


def check_host(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Errors close the hub at run time; the warning is for a choice that deserves a second look."""
    settings = auth.AuthSettings.from_environ(os.environ)
    problems = auth.problems(settings)
    found: list[checks.CheckMessage] = [
        checks.Error(problem.message, hint=problem.hint, id=problem.id)
        for problem in [
            *problems,
            *auth.delivery_problems(os.environ),
            *gate.GateSettings.from_environ(os.environ).problems(),
        ]
    ]
    try:
        idle.limit_s(os.environ)
    except PinboxError as error:
        found.append(checks.Error(error.message, hint=error.hint, id="pinbox.E020"))
    if settings.strategy == "none" and not problems:
        found.append(
            checks.Warning(
                "Everyone who reaches this hub may do everything.",
                hint="Unset PINBOX_AUTH unless the network in front of it decides who comes.",
                id="pinbox.W001",
            )
        )
    return found
