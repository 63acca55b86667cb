import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from delivery.worker import Worker


class Command(BaseCommand):
    help = "Bring out what is due, until stopped. A hub that serves does so itself."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="deliver what is due now, then end")

    def handle(self, *args: Any, **options: Any) -> None:
        worker = Worker()
        if options["once"]:
            while worker.tick()[0]:
                pass
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        worker.run()
