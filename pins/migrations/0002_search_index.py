"""The index behind search: FTS5 trigrams kept by triggers on SQLite, pg_trgm on PostgreSQL."""

from typing import Any

from django.db import migrations

SQLITE = (
    "CREATE VIRTUAL TABLE pins_search_index USING fts5("
    "body, content='pins_searchtext', content_rowid='id', tokenize='trigram case_sensitive 1')",
    "CREATE TRIGGER pins_search_insert AFTER INSERT ON pins_searchtext BEGIN"
    " INSERT INTO pins_search_index(rowid, body) VALUES (new.id, new.body); END",
    "CREATE TRIGGER pins_search_delete AFTER DELETE ON pins_searchtext BEGIN"
    " INSERT INTO pins_search_index(pins_search_index, rowid, body)"
    " VALUES ('delete', old.id, old.body); END",
    "CREATE TRIGGER pins_search_update AFTER UPDATE ON pins_searchtext BEGIN"
    " INSERT INTO pins_search_index(pins_search_index, rowid, body)"
    " VALUES ('delete', old.id, old.body);"
    " INSERT INTO pins_search_index(rowid, body) VALUES (new.id, new.body); END",
)
SQLITE_BACK = (
    "DROP TRIGGER pins_search_update",
    "DROP TRIGGER pins_search_delete",
    "DROP TRIGGER pins_search_insert",
    "DROP TABLE pins_search_index",
)
POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX pins_search_index ON pins_searchtext USING gin (body gin_trgm_ops)",
)
POSTGRESQL_BACK = ("DROP INDEX pins_search_index",)


def forwards(apps: Any, editor: Any) -> None:
    for statement in SQLITE if editor.connection.vendor == "sqlite" else POSTGRESQL:
        editor.execute(statement)


def backwards(apps: Any, editor: Any) -> None:
    for statement in SQLITE_BACK if editor.connection.vendor == "sqlite" else POSTGRESQL_BACK:
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("pins", "0001_log_and_projections")]
    operations = [migrations.RunPython(forwards, backwards)]
