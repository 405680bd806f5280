"""``winnow config``: the settings in force, and where each came from."""

from __future__ import annotations

import sys
from typing import Any

from pydantic import SecretStr

from server.commands.output import Json, command, errors_shown, print_json
from server.logs import masked
from server.settings import Settings, load_settings, source_of

app = command()


@app.command(epilog="Example: WINNOW_FUSION=rrf winnow config --json")
def config(as_json: Json = False) -> None:
    """Show every setting, its value and its source; secrets are masked."""
    with errors_shown(as_json=as_json):
        settings = load_settings()
        rows = {
            name: {
                "value": _shown(getattr(settings, name)),
                "source": source_of(name),
                "help": field.description or "",
            }
            for name, field in Settings.model_fields.items()
        }
        if as_json:
            print_json(rows)
            return
        width = max(map(len, rows))
        for name, row in rows.items():
            sys.stdout.write(f"{name:<{width}}  {row['value']!s:<40}  {row['source']}\n")


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return masked(value.get_secret_value())
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
