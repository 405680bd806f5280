"""The projects of a catalogue: which there are, and the settings of their own."""

from __future__ import annotations

from typing import Any

from server.backends.sqlite import Database
from server.models import ProjectInfo
from server.projects.settings import ProjectSettings, settings_from_json, settings_to_json

# Added by layout 7. ``changed``: when documents were last written or deleted (ISO 8601, UTC), "" if unknown.
PROJECT_COLUMNS = ("changed TEXT NOT NULL DEFAULT ''",)
PROJECT_SETTINGS_SCHEMA = """
CREATE TABLE project_settings (project TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID;
"""
NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
_COUNTS = (
    "(SELECT count(*) FROM documents WHERE project = name), (SELECT count(*) FROM chunks WHERE project = name)"
)


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
            " EXISTS (SELECT 1 FROM project_settings WHERE project = name) FROM projects ORDER BY name"
        )
        return [
            ProjectInfo(name, documents, chunks, generation, self.embedding(name), changed)
            for name, generation, changed, documents, chunks, is_created in rows
            if documents or is_created
        ]

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
        """Grows with every change of the project's index; 0 for a project that does not exist."""
        rows = self._database.rows("SELECT generation FROM projects WHERE name = ?", project)
        return int(rows[0][0]) if rows else 0

    def project_settings(self, project: str) -> ProjectSettings:
        """The settings of the project; the defaults where none are stored.

        Raises ``WinnowError("INDEX_UNAVAILABLE")`` where a later version of winnow wrote them.
        """
        rows = self._settings_rows(project)
        return settings_from_json(project, rows[0][0]) if rows else ProjectSettings()

    def save_project_settings(self, project: str, settings: ProjectSettings) -> None:
        """Store the settings of a project, and create it if it is new. Durable when this returns."""
        with self._database.transaction(to_disk=True) as connection:
            connection.execute("INSERT INTO projects (name) VALUES (?) ON CONFLICT DO NOTHING", (project,))
            connection.execute(
                "INSERT OR REPLACE INTO project_settings VALUES (?, ?)", (project, settings_to_json(settings))
            )

    def _settings_rows(self, project: str) -> list[Any]:
        return self._database.rows("SELECT settings FROM project_settings WHERE project = ?", project)
