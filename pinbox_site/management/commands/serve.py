from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pinbox import hub
from pinbox.contract import PinboxError


class Command(BaseCommand):
    help = "Serve this project in the foreground until stopped or idle."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=0, help="port on 127.0.0.1 (default: the last one)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            hub.run(settings.PROJECT_DIR, port=options["port"])
        except hub.AlreadyServed as error:
            raise CommandError(str(error), returncode=4) from error
        except PinboxError as error:
            raise CommandError(error.message, returncode=error.exit_code) from error
