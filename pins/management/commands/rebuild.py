"""`manage.py rebuild [--check]`: the projections made anew from the log, or held against it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pins import projections


class Command(BaseCommand):
    help = "Drop every projection and replay the event log. Sessions, bindings and deliveries stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="change nothing; exit 1 when a rebuild would"
        )
        parser.add_argument("--json", action="store_true", help="one JSON envelope on stdout")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        if not check:
            events = projections.rebuild()
            self._say({"events": events}, options["json"], f"rebuilt from {events} events")
            return
        drift = projections.check()
        said = ", ".join(f"{table}: {rows} rows differ" for table, rows in drift.items())
        self._say(
            {"drift": drift}, options["json"], said or "clean: a rebuild would change nothing"
        )
        if drift:
            raise CommandError("the projections are not what the log says; run: pinbox rebuild")

    def _say(self, data: dict[str, Any], as_json: bool, text: str) -> None:
        self.stdout.write(json.dumps({"ok": True, "data": data}, indent=2) if as_json else text)
