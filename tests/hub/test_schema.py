"""A fresh database made from schema.sql is the one the migrations make."""

import sqlite3
from contextlib import closing

import pytest
from django.core.management import call_command
from django.db import connections

from pinbox_site import schema


@pytest.fixture
def scratch(tmp_path, settings, monkeypatch):
    """`prepare_database` works on an empty file of this test."""
    path = tmp_path / "fresh.db"
    connections.settings["fresh"] = {
        **connections.settings["default"],
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {},
    }
    monkeypatch.setattr(schema, "connection", connections["fresh"])
    yield path
    connections["fresh"].close()
    del connections["fresh"]
    del connections.settings["fresh"]


def test_schema_sql_is_what_the_migrations_make(django_db_blocker):
    with django_db_blocker.unblock():
        assert schema.SCHEMA_FILE.read_text("utf-8") == schema.dump(), "run: manage.py dumpschema"


def test_a_fresh_database_has_every_migration_and_runs_none(scratch, django_db_blocker):
    with django_db_blocker.unblock():
        schema.prepare_database()
        schema.prepare_database()
    with closing(sqlite3.connect(scratch)) as made:
        applied = made.execute("SELECT COUNT(*) FROM django_migrations").fetchone()[0]
        assert made.execute("PRAGMA user_version").fetchone()[0] == schema.migrations_id()
        assert made.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert applied > 20


def test_a_database_of_other_migrations_is_migrated(scratch, django_db_blocker, monkeypatch):
    called = []
    with django_db_blocker.unblock():
        schema.prepare_database()
        monkeypatch.setattr(schema, "migrations_id", lambda: 7)
        monkeypatch.setattr(schema, "call_command", lambda *a, **k: called.append(a))
        schema.prepare_database()
    assert called == [("migrate",)]


def test_no_model_has_changed_without_a_migration(django_db_blocker):
    with django_db_blocker.unblock():
        call_command("makemigrations", check=True, dry_run=True, verbosity=0)
