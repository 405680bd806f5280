"""``winnow config``: the settings in force and their sources."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from winnow.server.commands.terminal.output import (
    Json,
    command,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.runtime.logs import mask_secret
from winnow.server.settings.loading import Configuration, load
from winnow.server.settings.permissions import TOPICS
from winnow.server.settings.settings import Settings

app = command()


@app.command(epilog=examples("WINNOW_FUSION=rrf winnow config --json"))
def config(as_json: Json = False) -> None:
    """Show every setting, its value and its source; secrets are masked.

    A value that its place may not set is ignored, and listed: a winnow.toml in the working folder may set only
    what can do no harm.
    """
    with report_errors(as_json=as_json):
        configuration = load()
        rows = {name: build_row(configuration, name) for settings in TOPICS.values() for name in settings}
        if as_json:
            print_json(rows)
        else:
            print_lines(*_format_rows(rows))
        print_to_stderr(*(f"winnow: {line}" for line in configuration.ignored_lines()))


def build_row(configuration: Configuration, name: str) -> dict[str, Any]:
    """A setting as JSON data: its value with secrets masked, its source, its help, and ignored values."""
    return {
        "value": _printable_value(getattr(configuration.settings, name)),
        "source": configuration.source_of(name),
        "help": Settings.model_fields[name].description or "",
        "ignored": [
            {"place": ignored.place, "why": ignored.why}
            for ignored in configuration.ignored
            if ignored.name == name
        ],
    }


def _format_rows(rows: dict[str, Any]) -> list[str]:
    width = max(map(len, rows))
    return [f"{name:<{width}}  {row['value']!s:<40}  {row['source']}" for name, row in rows.items()]


def _printable_value(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return mask_secret(value.get_secret_value())
    if isinstance(value, tuple):
        return [_printable_value(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
