"""The projects of a catalogue: which there are, the settings of their own, and which are hidden."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from winnow.server.models import ProjectInfo
from winnow.server.settings.project_settings import ProjectSettings, settings_from_json, settings_to_json
from winnow.server.storage.project_states import HiddenProject, ProjectState
from winnow.server.storage.sqlite import Database

# Added by layout 7. ``changed``: when documents were last written or deleted (ISO 8601, UTC), "" if unknown.
CHANGED_COLUMN = "changed TEXT NOT NULL DEFAULT ''"
# Added by layout 8. ``state`` as in ``storage.project_states``; ``successor`` is the new name of a renamed one.
STATE_COLUMNS = ("state TEXT NOT NULL DEFAULT ''", "successor TEXT NOT NULL DEFAULT ''")
PROJECT_SETTINGS_SCHEMA = """
CREATE TABLE project_settings (project TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID;
"""
NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
_DOCUMENTS = "(SELECT count(*) FROM documents WHERE project = name)"
_COUNTS = f"{_DOCUMENTS}, (SELECT count(*) FROM chunks WHERE project = name)"
_OF_DOCUMENTS = ("texts", "places", "readings")
_OF_PROJECT = ("chunks", "documents", "files", "project_settings")
_IDS_OF = "SELECT id FROM documents WHERE project = ?"
_NEW_ID = "(SELECT new FROM temp.moved WHERE old = {column})"


class ProjectRows:
    """The reads and writes of a catalogue that concern whole projects."""

    _database: Database

    def projects(self) -> list[ProjectInfo]:
        """All projects that hold documents, by name."""
        return [info for info in self.existing_projects() if info.documents]

    def existing_projects(self) -> list[ProjectInfo]:
        """All projects that were created or hold documents, by name."""
        rows = self._database.rows(
            f"SELECT name, generation, changed, {_COUNTS},"
            " EXISTS (SELECT 1 FROM project_settings WHERE project = name) FROM projects"
            " WHERE state = '' ORDER BY name"
        )
        return [
            ProjectInfo(name, documents, chunks, generation, self.embedding(name), changed)
            for name, generation, changed, documents, chunks, is_created in rows
            if documents or is_created
        ]

    def has_project(self, project: str) -> bool:
        """Whether the project was created or holds documents, and is in use."""
        rows = self._database.rows(
            "SELECT 1 FROM projects WHERE name = ?1 AND state = ''"
            " AND (EXISTS (SELECT 1 FROM documents WHERE project = ?1)"
            " OR EXISTS (SELECT 1 FROM project_settings WHERE project = ?1))",
            project,
        )
        return bool(rows)

    def embedding(self, project: str) -> str:
        """The fingerprint that all documents of the project share; "" where they have none or several."""
        ((least, most),) = self._database.rows(
            "SELECT (SELECT min(embedding) FROM documents WHERE project = ?),"
            " (SELECT max(embedding) FROM documents WHERE project = ?)",
            project,
            project,
        )
        return least if least is not None and least == most else ""

    def generation(self, project: str) -> int:
        """Grows with every change of the project's index; 0 for a project that does not exist or is hidden."""
        rows = self._database.rows("SELECT generation FROM projects WHERE name = ? AND state = ''", project)
        return int(rows[0][0]) if rows else 0

    def project_settings(self, project: str) -> ProjectSettings:
        """The settings of the project; the defaults where none are stored.

        Raises ``WinnowError("INDEX_UNAVAILABLE")`` where a later version of winnow wrote them.
        """
        rows = self._settings_rows(project)
        return settings_from_json(project, rows[0][0]) if rows else ProjectSettings()

    def has_settings(self, project: str) -> bool:
        """Whether settings of the project are stored, whatever its state."""
        return bool(self._settings_rows(project))

    def save_project_settings(self, project: str, settings: ProjectSettings) -> None:
        """Store the settings of a project, and create it if it is new. Durable when this returns."""
        with self._database.sealed_transaction() as connection:
            connection.execute("INSERT INTO projects (name) VALUES (?) ON CONFLICT DO NOTHING", (project,))
            connection.execute(
                "INSERT OR REPLACE INTO project_settings VALUES (?, ?)", (project, settings_to_json(settings))
            )

    def primary_facts(self) -> dict[str, tuple[ProjectSettings | None, tuple[str, ...]]]:
        """The stored settings of each project in use, None for none, and the sources of its documents."""
        with self._database.snapshot():
            rows = self._database.rows(
                "SELECT name, settings FROM projects LEFT JOIN project_settings ON project = name WHERE state = ''"
            )
            sources = self._database.rows("SELECT DISTINCT project, source FROM documents ORDER BY source")
        return {
            name: (
                settings_from_json(name, text) if text is not None else None,
                tuple(source for project, source in sources if project == name),
            )
            for name, text in rows
        }

    def restore_projects(self, settings: Mapping[str, ProjectSettings]) -> None:
        """Store the settings of these projects, and create those that are new, in one durable change."""
        with self._database.sealed_transaction() as connection:
            for project, wanted in settings.items():
                connection.execute("INSERT INTO projects (name) VALUES (?) ON CONFLICT DO NOTHING", (project,))
                values = (project, settings_to_json(wanted))
                connection.execute("INSERT OR REPLACE INTO project_settings VALUES (?, ?)", values)

    def project_state(self, project: str) -> ProjectState:
        """The state of the project; "" also if there is none."""
        rows = self._database.rows("SELECT state FROM projects WHERE name = ?", project)
        return rows[0][0] if rows else ""

    def hidden_projects(self) -> dict[str, HiddenProject]:
        """The projects that are not in use, by name."""
        query = f"SELECT name, state, successor, {_DOCUMENTS} FROM projects WHERE state != '' ORDER BY name"
        return {row[0]: HiddenProject(*row) for row in self._database.rows(query)}

    def set_project_state(self, project: str, state: ProjectState) -> None:
        """Hide the project, or show it again with ""; it is created if it is new. Durable when this returns."""
        with self._database.sealed_transaction() as connection:
            connection.execute(
                "INSERT INTO projects (name, state) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET state = ?2",
                (project, state),
            )

    def clear_project(self, project: str) -> None:
        """Delete all that a project holds, in one durable change; an empty row of it stays, being removed."""
        with self._database.sealed_transaction() as connection:
            for table in _OF_DOCUMENTS:
                connection.execute(f"DELETE FROM {table} WHERE document_id IN ({_IDS_OF})", (project,))
            for table in _OF_PROJECT:
                connection.execute(f"DELETE FROM {table} WHERE project = ?", (project,))
            connection.execute("UPDATE projects SET state = 'removing' WHERE name = ?", (project,))

    def forget_project(self, project: str) -> None:
        """Remove the row of a project that was cleared: its name is free from now on."""
        with self._database.sealed_transaction() as connection:
            connection.execute("DELETE FROM projects WHERE name = ? AND state = 'removing'", (project,))

    def move_project(self, old: str, new: str, ids: Mapping[str, str], contexts: Mapping[str, str]) -> None:
        """Give a project another name, and its documents and chunks the ids that ``ids`` has for the former ones.

        ``contexts`` are the context hashes of the documents by their new ids. One durable change. The new name is
        shown, the former one is an empty project that is being removed.
        """
        with self._database.sealed_transaction() as connection:
            connection.execute("CREATE TEMP TABLE moved (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID")
            connection.executemany("INSERT INTO temp.moved VALUES (?, ?)", ids.items())
            self._move_rows(connection, old, new)
            connection.executemany(
                "UPDATE documents SET context_hash = ? WHERE id = ?",
                [(context, id) for id, context in contexts.items()],
            )
            connection.execute("DROP TABLE temp.moved")

    @staticmethod
    def _move_rows(connection: sqlite3.Connection, old: str, new: str) -> None:
        for table in _OF_DOCUMENTS:
            connection.execute(
                f"UPDATE {table} SET document_id = {_NEW_ID.format(column='document_id')}"
                f" WHERE document_id IN ({_IDS_OF})",
                (old,),
            )
        id, document = _NEW_ID.format(column="id"), _NEW_ID.format(column="document_id")
        connection.execute(
            f"UPDATE chunks SET id = {id}, document_id = {document}, project = ? WHERE project = ?", (new, old)
        )
        connection.execute(f"UPDATE documents SET id = {id}, project = ? WHERE project = ?", (new, old))
        for table in ("files", "project_settings"):
            connection.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (new, old))
        connection.execute(
            "UPDATE projects SET state = '', changed = (SELECT changed FROM projects WHERE name = ?1),"
            " generation = (SELECT generation FROM projects WHERE name = ?1) + 1 WHERE name = ?2",
            (old, new),
        )
        connection.execute("UPDATE projects SET state = 'removing', successor = ? WHERE name = ?", (new, old))

    def _settings_rows(self, project: str) -> list[Any]:
        return self._database.rows("SELECT settings FROM project_settings WHERE project = ?", project)
