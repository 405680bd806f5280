"""The table of MCP clients: where each keeps its servers, in which format, and what an entry of it looks like.

Sources are the clients' own documentation and code, read in November 2026; for the skills of Continue and Junie
the table of the program ``skills``. Two things are left out because nothing public says how to write them: the
servers that JetBrains AI Assistant keeps in its settings dialogue (the file of Junie is here), and profiles of
VS Code other than the default one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from winnow.server.commands.setup.editing.config_text import ConfigFormat
from winnow.server.commands.setup.machine import System


@dataclass(frozen=True, slots=True)
class Shape:
    """The keys of an entry: those of the command, its arguments and its variables.

    ``fixed`` is in every entry. ``at_first`` is in a new one only: it is the user's to change.
    """

    command: str = "command"
    args: str = "args"
    env: str = "env"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    at_first: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConfigPlace:
    """A configuration file. ``signs``: one of these paths is there with the client; by default the folder."""

    file: str
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Client:
    """A client, with the places of its file on each system; it reads each that there is.

    ``servers`` is the key path of the servers. ``off``: the member of an entry that switches it off.
    ``listed_off``, ``listed_on``: key paths of lists that name the servers which are off, or the only ones that
    are on; a star is any key. ``skills``: the folder of the user's agent skills, "" where it has none.
    ``again``: what makes it read the file anew.
    """

    name: str
    title: str
    places: Mapping[System, Sequence[ConfigPlace]]
    format: ConfigFormat = ConfigFormat.JSONC
    servers: tuple[str, ...] = ("mcpServers",)
    shape: Shape = field(default_factory=Shape)
    off: tuple[str, bool] | None = None
    listed_off: tuple[tuple[str, ...], ...] = ()
    listed_on: tuple[tuple[str, ...], ...] = ()
    skills: str = ""
    again: str = "quit it and start it again"


def _everywhere(*places: ConfigPlace) -> Mapping[System, Sequence[ConfigPlace]]:
    return dict.fromkeys(System, places)


_DESKTOP = "claude_desktop_config.json"
# The application for other providers of models has a folder of its own. Windows keeps the folders of an MSIX
# package below Packages, and hides the usual one from it.
_CLAUDE_DESKTOP: Mapping[System, Sequence[ConfigPlace]] = {
    System.LINUX: [ConfigPlace(f"{{desktop}}/{folder}/{_DESKTOP}") for folder in ("Claude", "Claude-3p")],
    System.MACOS: [ConfigPlace(f"{{desktop}}/{folder}/{_DESKTOP}") for folder in ("Claude", "Claude-3p")],
    System.WINDOWS: [
        *(ConfigPlace(f"{{roaming}}/{folder}/{_DESKTOP}") for folder in ("Claude", "Claude-3p")),
        ConfigPlace(f"{{local}}/Claude-3p/{_DESKTOP}"),
        *(
            ConfigPlace(f"{{local}}/Packages/Claude_*/LocalCache/{part}/{folder}/{_DESKTOP}")
            for part, folder in (("Roaming", "Claude"), ("Roaming", "Claude-3p"), ("Local", "Claude-3p"))
        ),
    ],
}
# The folder that several clients share.
_SHARED_SKILLS = "{home}/.agents/skills"
_STDIO: Mapping[str, Any] = MappingProxyType({"type": "stdio"})
_CLINE = "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_GOOSE = Shape(
    command="cmd",
    env="envs",
    fixed=_STDIO,
    at_first=MappingProxyType(
        {
            "name": "winnow",
            "description": "search and scripts over your own documents",
            "enabled": True,
            "env_keys": [],
            "timeout": 300,
        }
    ),
)

CLIENTS: Sequence[Client] = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        _CLAUDE_DESKTOP,
        ConfigFormat.JSON,
        again="quit it, from its menu or the system tray, and start it again",
    ),
    Client(
        "claude-code",
        "Claude Code",
        _everywhere(ConfigPlace("{claude}/.claude.json", ("{claude}/.claude.json", "{home}/.claude"))),
        ConfigFormat.JSON,
        shape=Shape(fixed=_STDIO),
        listed_off=(("projects", "*", "disabledMcpServers"),),
        skills="{claude_home}/skills",
        again="start a new session; claude mcp list shows the state",
    ),
    Client(
        "vscode",
        "VS Code",
        _everywhere(
            ConfigPlace("{desktop}/Code/User/mcp.json"), ConfigPlace("{desktop}/Code - Insiders/User/mcp.json")
        ),
        servers=("servers",),
        shape=Shape(fixed=_STDIO),
        skills="{home}/.copilot/skills",
        again="run the command MCP: List Servers and start winnow there",
    ),
    Client(
        "cursor",
        "Cursor",
        _everywhere(ConfigPlace("{home}/.cursor/mcp.json")),
        skills="{home}/.cursor/skills",
        again="quit it and start it again, and switch winnow on under MCP in its settings if it is off",
    ),
    Client(
        "windsurf",
        "Windsurf",
        _everywhere(ConfigPlace("{home}/.codeium/windsurf/mcp_config.json")),
        off=("disabled", True),
        skills="{home}/.codeium/windsurf/skills",
        again="press refresh in the list of MCP servers, or start it again",
    ),
    Client(
        "zed",
        "Zed",
        {
            System.LINUX: [ConfigPlace("{config}/zed/settings.json")],
            System.MACOS: [ConfigPlace("{home}/.config/zed/settings.json")],
            System.WINDOWS: [ConfigPlace("{roaming}/Zed/settings.json")],
        },
        servers=("context_servers",),
        shape=Shape(at_first=MappingProxyType({"source": "custom"})),
        off=("enabled", False),
        skills=_SHARED_SKILLS,
        again="wait a moment: it reads the file by itself",
    ),
    Client(
        "codex",
        "Codex",
        _everywhere(ConfigPlace("{codex}/config.toml")),
        ConfigFormat.TOML,
        servers=("mcp_servers",),
        off=("enabled", False),
        skills=_SHARED_SKILLS,
        again="start a new session; /mcp shows the state",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        _everywhere(ConfigPlace("{home}/.gemini/settings.json")),
        listed_off=(("mcp", "excluded"),),
        listed_on=(("mcp", "allowed"),),
        skills="{home}/.gemini/skills",
        again="start a new session; /mcp shows the state",
    ),
    Client(
        "lmstudio",
        "LM Studio",
        _everywhere(ConfigPlace("{home}/.lmstudio/mcp.json"), ConfigPlace("{home}/.cache/lm-studio/mcp.json")),
        again="switch mcp/winnow on in the Program tab of a chat",
    ),
    Client(
        "cline",
        "Cline",
        _everywhere(
            ConfigPlace("{home}/.cline/data/settings/cline_mcp_settings.json", ("{home}/.cline",)),
            ConfigPlace(f"{{desktop}}/Code/User/globalStorage/{_CLINE}"),
        ),
        off=("disabled", True),
        skills="{home}/.cline/skills",
        again="wait a moment: it reads the file by itself",
    ),
    Client(
        "continue",
        "Continue",
        _everywhere(ConfigPlace("{home}/.continue/mcpServers/winnow.json", ("{home}/.continue",))),
        skills="{home}/.continue/skills",
        again="reload the window of the editor, and choose agent mode",
    ),
    Client(
        "junie",
        "JetBrains Junie",
        _everywhere(ConfigPlace("{home}/.junie/mcp/mcp.json", ("{home}/.junie",))),
        skills="{home}/.junie/skills",
        again="start it again",
    ),
    Client(
        "goose",
        "Goose",
        {
            System.LINUX: [ConfigPlace("{config}/goose/config.yaml")],
            System.MACOS: [ConfigPlace("{home}/.config/goose/config.yaml")],
            System.WINDOWS: [ConfigPlace("{roaming}/Block/goose/config/config.yaml")],
        },
        ConfigFormat.YAML,
        servers=("extensions",),
        shape=_GOOSE,
        off=("enabled", False),
        skills=_SHARED_SKILLS,
        again="start a new session",
    ),
)

# Another word -> the clients that it means.
ALIASES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "claude": ("claude-desktop", "claude-code"),
        "code": ("vscode",),
        "vs-code": ("vscode",),
        "gemini-cli": ("gemini",),
        "lm-studio": ("lmstudio",),
        "jetbrains": ("junie",),
    }
)
