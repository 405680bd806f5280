"""Rights of a token: rules of the operator, from claims of tokens to projects and rights.

The rules are a file in TOML, of which the first rule that matches decides::

    [[rules]]
    claim = "sub"
    value = "7c9e6679"
    refuse = true

    [[rules]]
    claim = "realm_access.roles"
    value = "handbook-editor"
    projects = ["handbook"]
    read_only = false
    calls_per_minute = 300

A claim matches if it is the value, or a list or words with the value among them. A token that no rule matches is
refused. Without a file every valid token reaches all projects of the server, and only reads.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from winnow.server.errors import WinnowError
from winnow.server.runtime.operator_files import read_operator_file
from winnow.server.settings.value_types import ProjectName
from winnow.server.storage.keys.records import MAX_RATE
from winnow.server.text.printable import one_line

_MAX_BYTES = 256 * 1024
_MAX_RULES = 1_000


class TokenRule(BaseModel):
    """A rule. An empty ``claim`` matches every token; ``projects`` are as those of a key: empty means all."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    claim: Annotated[str, Field(max_length=200)] = ""
    value: Annotated[str, Field(max_length=500)] = ""
    refuse: bool = False
    projects: Annotated[tuple[ProjectName, ...], Field(max_length=100)] = ()
    read_only: bool = True
    calls_per_minute: Annotated[int, Field(ge=1, le=MAX_RATE)] | None = None

    def matches(self, claims: Mapping[str, Any]) -> bool:
        """Whether the rule is for a token with these claims."""
        return not self.claim or self.value in _values_of(claims, self.claim)


class _RulesFile(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    rules: Annotated[tuple[TokenRule, ...], Field(min_length=1, max_length=_MAX_RULES)]


DEFAULT_RULES = (TokenRule(),)


def read_rules(path: Path) -> tuple[TokenRule, ...]:
    """The rules of a file. Raises ``WinnowError("INVALID_REQUEST")`` for one that is not as it should be."""
    try:
        text = read_operator_file(path, _MAX_BYTES, is_ours=False)
        return _RulesFile.model_validate(tomllib.loads(text)).rules
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except PermissionError as error:
        why = str(error)
    except OSError as error:
        why = error.strerror or "it cannot be opened"
    except (ValueError, RecursionError) as error:  # no TOML, no text
        why = str(error)
    raise WinnowError("INVALID_REQUEST", f"--oidc-rules: {path} cannot be used: {one_line(why, 300)}")


def find_rule(rules: Sequence[TokenRule], claims: Mapping[str, Any]) -> TokenRule | None:
    """The rule for a token with these claims; None if it is refused."""
    rule = next((rule for rule in rules if rule.matches(claims)), None)
    return None if rule is None or rule.refuse else rule


def _values_of(claims: Mapping[str, Any], name: str) -> Sequence[str]:
    """The values of a claim: of this name, or with dots of an object in another."""
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str):
        return (value, *value.split(" "))
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else ()
