"""The facts that every package states: names, version, licence, and the command with its arguments.

They are declared once, in ``pyproject.toml``; descriptions of arguments are those of the settings.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from winnow.server.settings.settings import Settings

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of ``pyproject.toml`` that packages repeat."""

    name: str
    version: str
    title: str
    description: str
    author: str
    license_id: str
    python: str
    keywords: tuple[str, ...]
    registry_name: str

    @property
    def has_example_name(self) -> bool:
        """Whether the name for the registry is that of nobody: its domain is reserved for examples."""
        return self.registry_name.startswith(("com.example.", "com.example/"))


@dataclass(frozen=True, slots=True)
class UserOption:
    """An option of ``winnow serve`` that a user is asked for when a client installs winnow."""

    name: str
    title: str
    is_folder: bool
    default: str

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{self.name}"

    @property
    def description(self) -> str:
        """The description of the setting of this name."""
        return str(Settings.model_fields[self.name].description)


# What starts a server on stdio, behind the program.
SERVE = "serve"
# ${HOME} is filled in by the client; the folder is the default one of winnow.
USER_OPTIONS = (
    UserOption("store", "Store", is_folder=True, default="${HOME}/.local/share/winnow"),
    UserOption("project", "Project", is_folder=False, default=str(Settings.model_fields["project"].default)),
)


def read_facts(root: Path = ROOT) -> Facts:
    """The facts of the project in this folder."""
    document = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project, ours = document["project"], document["tool"]["winnow"]
    return Facts(
        name=project["name"],
        version=project["version"],
        title=next(iter(project["scripts"])),
        description=project["description"],
        author=project["authors"][0]["name"],
        license_id=project["license"],
        python=project["requires-python"],
        keywords=tuple(project["keywords"]),
        registry_name=ours["registry-name"],
    )
