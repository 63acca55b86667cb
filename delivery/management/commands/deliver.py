import logging
import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from delivery.worker import Worker

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Bring out what is due, until stopped. A hub that serves does so itself."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="deliver what is due now, then end")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verbosity"]:
            logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
        worker = Worker()
        if options["once"]:
            while worker.tick()[0]:
                pass
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        log.info("delivering for %s", settings.PROJECT_DIR)
        worker.run()
        log.info("stopped")
