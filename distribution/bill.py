"""The software bill of materials of an installation, as CycloneDX 1.6 in JSON.

Components are the pinned distributions, with their licences as their metadata states them and the digests of all
their files. The same pins make the same document.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import Distribution
from types import MappingProxyType
from typing import Any

from packaging.utils import canonicalize_name

from distribution.facts import Facts
from distribution.pins import Pin, by_name, installed, needs_of, wanted_extras

_NAMESPACE = uuid.UUID("b1f7f6f0-4a57-5b6d-9a40-5d2f2c5f0d1e")
# Licences as older metadata names them -> their SPDX identifiers. "BSD License" is none: it may be any of several.
_SPDX: Mapping[str, str] = MappingProxyType(
    {
        "3-Clause BSD License": "BSD-3-Clause",
        "Apache 2.0": "Apache-2.0",
        "Apache License 2.0": "Apache-2.0",
        "Apache License, Version 2.0": "Apache-2.0",
        "Apache Software License": "Apache-2.0",
        "ISC License (ISCL)": "ISC",
        "MIT License": "MIT",
        "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
        "Python Software Foundation License": "PSF-2.0",
    }
)
_CLASSIFIER = "License :: "
_IDENTIFIERS = frozenset(_SPDX.values()) | {"BSD-2-Clause"}


def bill_of_materials(
    facts: Facts, pins: Sequence[Pin], requirements: Sequence[str], seconds: int
) -> dict[str, Any]:
    """The document; ``seconds`` is the time of the build."""
    own = f"pkg:pypi/{facts.name}@{facts.version}"
    named, extras = by_name(pins), wanted_extras(pins, requirements)
    serial = uuid.uuid5(_NAMESPACE, own + "".join(pin.requirement for pin in pins))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": facts.name,
                "version": facts.version,
                "description": facts.description,
                "licenses": [{"license": {"id": facts.license_id}}],
                "purl": own,
            },
        },
        "components": [_component(pin) for pin in pins],
        "dependencies": [
            {"ref": own, "dependsOn": _references(map(_name, requirements), named)},
            *({"ref": reference(pin), "dependsOn": _needs(pin, extras[pin.name], named)} for pin in pins),
        ],
    }


def reference(pin: Pin) -> str:
    """The package URL of a pin."""
    return f"pkg:pypi/{pin.name}@{pin.version}"


def _name(requirement: str) -> str:
    return canonicalize_name(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])


def _needs(pin: Pin, extras: Iterable[str], named: Mapping[str, Sequence[Pin]]) -> list[str]:
    return _references((canonicalize_name(each.name) for each in needs_of(pin.name, extras)), named)


def _references(names: Iterator[str], named: Mapping[str, Sequence[Pin]]) -> list[str]:
    return sorted({reference(pin) for name in names for pin in named.get(name, ())})


def _component(pin: Pin) -> dict[str, Any]:
    notes = [("winnow:marker", pin.marker)] if pin.marker else []
    notes += [("winnow:file:sha256", digest) for digest in pin.hashes]
    stated = licenses_of(pin)
    return {
        "type": "library",
        "bom-ref": reference(pin),
        "name": pin.name,
        "version": pin.version,
        **({"licenses": stated} if stated else {}),
        "purl": reference(pin),
        "properties": [{"name": name, "value": value} for name, value in notes],
    }


def licenses_of(pin: Pin) -> list[dict[str, Any]]:
    """The licences in the form of CycloneDX; none where this version is not installed, or states none."""
    found = installed(pin.name)
    if found is None or found.version != pin.version:
        return []
    stated = _stated(found)
    is_expression = "License-Expression" in found.metadata or set("".join(stated).split(" AND ")) <= _IDENTIFIERS
    if len(stated) == 1 and is_expression:
        return [{"expression": stated[0]}]
    return [{"license": {"id": name} if name in _IDENTIFIERS else {"name": name}} for name in stated]


def _stated(found: Distribution) -> list[str]:
    """The licence in the newest field that there is; fields of older metadata may be texts of their own."""
    metadata = found.metadata
    if "License-Expression" in metadata:
        return [metadata["License-Expression"]]
    text = metadata["License"].strip().partition("\n")[0] if "License" in metadata else ""
    classifiers = metadata.get_all("Classifier") or []
    classified = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith(_CLASSIFIER)]
    is_known = bool(text) and set(_SPDX.get(text, text).split(" AND ")) <= _IDENTIFIERS
    names = [text] if is_known or not classified else classified
    names = names if any(names) else [_title_of_licence(found)]
    return [_SPDX.get(name, name) for name in names if name]


def _title_of_licence(found: Distribution) -> str:
    """The first line of its licence file, for metadata that names the file and no licence."""
    file = next(iter(found.metadata.get_all("License-File") or []), "")
    text = (found.read_text(f"licenses/{file}") or "") if file else ""
    return text.strip().partition("\n")[0]
