"""A database ready to use: its tables made, or brought up to date, before the hub answers.

Running every migration on an empty file takes longer than importing the whole hub, so a fresh
SQLite database is made from `schema.sql`, which `manage.py dumpschema` writes from the migrations
and a test holds to them. Whether a database is current is one integer in the file (`user_version`),
not a migration plan.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from django.apps import apps
from django.core.management import call_command
from django.db import OperationalError, connection, connections

SCHEMA_FILE = Path(__file__).with_name("schema.sql")
_HEADER = "-- migrations: "
_SCRATCH = "scratch"


def prepare_database() -> None:
    """Make or migrate the tables. May be called again, and by several processes at once."""
    if connection.vendor != "sqlite":
        call_command("migrate", interactive=False, verbosity=0)
        return
    connection.ensure_connection()
    wanted = migrations_id()
    if _user_version() == wanted:
        return
    if not connection.introspection.table_names() and (script := fresh_script(wanted)):
        try:
            with connection.cursor() as cursor:
                cursor.executescript(script)
            return
        except OperationalError:
            # Another process made the tables meanwhile; what is missing is migrated below.
            connection.close()
    call_command("migrate", interactive=False, verbosity=0)
    _set_user_version(wanted)


def migrations_id() -> int:
    """A number for the set of migrations this code has, of all apps. Imports none of them."""
    names = []
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        if folder.is_dir():
            names += [f"{app.label}.{name}" for name in os.listdir(folder) if name[:4].isdigit()]
    # user_version is a signed integer of 32 bits, and 0 in a new file.
    return zlib.crc32("\n".join(sorted(names)).encode()) >> 1 or 1


def fresh_script(wanted: int) -> str | None:
    """The SQL that makes a database of migrations `wanted`, or None when the file is for others."""
    script = SCHEMA_FILE.read_text("utf-8")
    header = script.partition("\n")[0]
    return script if header == f"{_HEADER}{wanted}" else None


def _user_version() -> int:
    with connection.cursor() as cursor:
        return int(cursor.execute("PRAGMA user_version").fetchone()[0])


def _set_user_version(version: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA user_version = {int(version)}")


def dump() -> str:
    """What `schema.sql` must hold: a database made by running every migration, as one transaction
    of SQL.
    """
    with TemporaryDirectory() as folder:
        scratch = Path(folder) / "scratch.db"
        connections.settings[_SCRATCH] = {
            **connections.settings["default"],
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": scratch,
            "OPTIONS": {},
        }
        try:
            call_command("migrate", database=_SCRATCH, interactive=False, verbosity=0)
            connections[_SCRATCH].close()
        finally:
            del connections.settings[_SCRATCH]
            del connections[_SCRATCH]
        with closing(sqlite3.connect(scratch)) as made:
            made.execute("UPDATE django_migrations SET applied = '2026-01-01 00:00:00'")
            lines = [*_definitions(made), *_rows(made)]
    wanted = migrations_id()
    return "\n".join(
        (
            f"{_HEADER}{wanted}",
            "-- Written by `manage.py dumpschema`. Do not edit.",
            "BEGIN IMMEDIATE;",
            *lines,
            f"PRAGMA user_version = {wanted};",
            "COMMIT;",
            "",
        )
    )


def _definitions(made: sqlite3.Connection) -> Iterator[str]:
    """Tables, then indexes and triggers. An FTS table makes its own shadow tables."""
    rows = made.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        " ORDER BY type <> 'table', rowid"
    ).fetchall()
    virtual = tuple(f"{name}_" for name, sql in rows if sql.startswith("CREATE VIRTUAL"))
    for name, sql in rows:
        if not (virtual and name.startswith(virtual)):
            yield f"{sql};"


def _rows(made: sqlite3.Connection) -> Iterator[str]:
    """Which migrations were applied. Content types and permissions are left out: Django makes them
    where it needs them, and numbers them differently in each of its versions.
    """
    for app, name, applied in made.execute(
        "SELECT app, name, applied FROM django_migrations ORDER BY id"
    ):
        yield (
            "INSERT INTO django_migrations (app, name, applied)"  # noqa: S608 - names of our own
            f" VALUES ('{app}', '{name}', '{applied}');"
        )
