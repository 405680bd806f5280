"""The folders that clients on this machine read agent skills from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow.server.commands.setup.changes import find_homes
from winnow.server.commands.setup.clients import Client
from winnow.server.commands.setup.machine import Machine

# In the folder of each skill that winnow wrote.
RECORD = ".winnow-skill.json"


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A folder that clients on this machine read skills from; several may share it."""

    clients: tuple[Client, ...]
    path: Path

    @property
    def titles(self) -> str:
        """The names of the clients."""
        return ", ".join(client.title for client in self.clients)


def find_skill_folders(machine: Machine, clients: Sequence[Client]) -> list[SkillFolder]:
    """The folders of those of these clients that are on this machine and read skills."""
    found: dict[str, SkillFolder] = {}
    for client in clients:
        if not client.skills or not find_homes(machine, [client]):
            continue
        (path,) = machine.paths(client.skills)
        sharing = found.get(os.path.realpath(path), SkillFolder((), path))
        found[os.path.realpath(path)] = SkillFolder((*sharing.clients, client), sharing.path)
    return list(found.values())


def has_skills(machine: Machine, clients: Sequence[Client]) -> bool:
    """Whether a folder of these clients has skills that winnow wrote."""
    return any([*folder.path.glob(f"*/{RECORD}")] for folder in find_skill_folders(machine, clients))
