"""Write pinbox_site/schema.sql from the migrations (a developer's command; a test holds the file to
them).
"""

from typing import Any

from django.core.management.base import BaseCommand

from pinbox_site import schema


class Command(BaseCommand):
    help = "Write pinbox_site/schema.sql, from which a fresh database is made."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        schema.SCHEMA_FILE.write_text(schema.dump(), "utf-8")
