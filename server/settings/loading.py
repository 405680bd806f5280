"""Loads the settings from flags, the environment and files: each value from the nearest source that may set it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from winnow.server.errors import WinnowError, own_words
from winnow.server.settings.addresses import to_address
from winnow.server.settings.permissions import KEYS, SETTERS, Setter
from winnow.server.settings.projects import narrow_projects, with_first_project
from winnow.server.settings.settings import Settings
from winnow.server.settings.sources import IgnoredValue, Source, SourcedValue, SourceRank, sources, user_file
from winnow.server.text.printable import one_line

# Further environment variables of a setting.
_OTHER_VARIABLES: Mapping[str, str] = MappingProxyType(
    {"kb_v2_enabled": "MCP_KB_V2_ENABLED", "structured_output_enabled": "MCP_STRUCTURED_OUTPUT_ENABLED"}
)
_FOR_THE_OPERATOR = (
    "set it with a flag, a variable or the file named by WINNOW_CONFIG, each time winnow is started"
)
_FOR_THE_USER = "a file in the working folder may not set it"
_NO_FLAGS: Mapping[str, Any] = MappingProxyType({})


def load_settings(**flags: Any) -> Settings:
    """The effective settings with these flags (None: not given).

    Raises:
        WinnowError: INVALID_REQUEST naming each setting that is wrong, and where it was set.
    """
    return load(flags).settings


@dataclass(frozen=True, slots=True)
class Configuration:
    """The effective settings, the source of each value that is not a default, and the ignored values.

    ``wider``: the ``projects`` of an outer source that were dropped because a nearer source names one ``project``.
    """

    settings: Settings
    given: Mapping[str, SourcedValue]
    ignored: tuple[IgnoredValue, ...] = ()
    wider: tuple[str, ...] = ()

    def source_of(self, name: str) -> str:
        """The source of a setting: its flag, its variable, the path of a file, or "default"."""
        return self.given[name].place if name in self.given else "default"

    def ignored_lines(self) -> list[str]:
        """One line for each file or variable with ignored values: which, why, and what to do."""
        places = dict.fromkeys((value.place, value.why) for value in self.ignored)
        return [self._ignored_line(place, why) for place, why in places]

    def _ignored_line(self, place: str, why: str) -> str:
        ignored = {value.name for value in self.ignored if (value.place, value.why) == (place, why)} - {""}
        names = sorted(ignored & SETTERS.keys()) + (["unknown settings"] if ignored - SETTERS.keys() else [])
        subject = f"{', '.join(names)} ignored" if names else "ignored"
        if why == _FOR_THE_OPERATOR:  # the user's own file may not set it either
            return one_line(f"{place}: {subject}: {why}")
        advice = f"put your own settings into {user_file()}, or name a file in WINNOW_CONFIG"
        return one_line(f"{place}: {subject}: {why}; {advice}")


def load(flags: Mapping[str, Any] = _NO_FLAGS) -> Configuration:
    """The configuration with these flags (None: not given).

    Invalid or forbidden values in the working folder's file are ignored and listed, because the folder may come
    from somebody else. Any other invalid value is an error.

    Raises:
        WinnowError: INVALID_REQUEST naming each setting that is wrong, and where it was set.
    """
    all_sources, unreadable = sources(Settings.model_fields, flags, _OTHER_VARIABLES)
    given, forbidden = _select_values(all_sources)
    given, wider = narrow_projects(given)
    settings, refused = _validate(given)
    given = with_first_project(given, settings.projects)
    if "project" in given:
        settings = settings.model_copy(update={"project": given["project"].value})
    _check_keys(settings, given, all_sources)
    given = {name: value for name, value in given.items() if value not in refused}
    invalid = [IgnoredValue(value.name, value.place, why) for value, why in refused.items()]
    return Configuration(settings, given, (*unreadable, *forbidden, *invalid), wider)


def _select_values(all_sources: Sequence[Source]) -> tuple[dict[str, SourcedValue], list[IgnoredValue]]:
    """Each setting's value from the nearest source that has one, and the values that a source may not set."""
    given: dict[str, SourcedValue] = {}
    ignored: list[IgnoredValue] = []
    for value in (value for source in all_sources for value in source):
        setter = SETTERS.get(value.name, Setter.USER)
        if value.rank > setter.value:
            why = _FOR_THE_OPERATOR if setter is Setter.OPERATOR else _FOR_THE_USER
            ignored.append(IgnoredValue(value.name, value.place, why))
        else:
            given.setdefault(value.name, value)
    return given, ignored


def _validate(given: Mapping[str, SourcedValue]) -> tuple[Settings, dict[SourcedValue, str]]:
    """The settings, and the invalid values of the working folder's file with the reason."""
    try:
        return Settings.model_validate({name: value.value for name, value in given.items()}), {}
    except ValidationError as error:
        wrong = {str(item["loc"][0]): _lower(item["msg"]) for item in error.errors(include_url=False)}
    refused = {given[name]: why for name, why in wrong.items() if given[name].rank is SourceRank.FOLDER_FILE}
    if not refused:
        complaints = "; ".join(f"{name}: {why} (from {given[name].place})" for name, why in wrong.items())
        raise WinnowError("INVALID_REQUEST", f"settings: {complaints}")
    settings, more = _validate({name: value for name, value in given.items() if value not in refused})
    return settings, refused | more


def _check_keys(settings: Settings, given: Mapping[str, SourcedValue], all_sources: Sequence[Source]) -> None:
    """Raise ``WinnowError`` if a key would be sent to another server than the one it was given with."""
    for name, address_name in KEYS.items():
        key, address = given.get(name), getattr(settings, address_name)
        if key is None or address is None or not address.is_remote:
            continue
        same_source = (
            value for source in all_sources if key in source for value in source if value.name == address_name
        )
        for value in same_source:
            if to_address(value.value).server != address.server:
                raise WinnowError(
                    "INVALID_REQUEST",
                    f"settings: {name} (from {key.place}) was given with {to_address(value.value)}, and is not "
                    f"sent to {address} (from {given[address_name].place}); set the key in the same place as "
                    "the address",
                )


def _lower(message: str) -> str:
    message = own_words(message)
    return f"{message[:1].lower()}{message[1:]}"
