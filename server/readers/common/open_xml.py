"""Common parts of Office Open XML packages (DOCX, PPTX, XLSX): relationships between parts, and properties."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from winnow.server.readers.common.archives import Archive
from winnow.server.readers.common.bounded_xml import attribute, children, local_name, parse_xml
from winnow.server.readers.common.markdown_draft import one_line
from winnow.server.readers.documents import UnreadableFile
from winnow.server.text.markup.shaped_text import raise_number

_PROPERTIES = "docProps/core.xml"
_LARGEST_PROPERTIES_BYTES = 1024 * 1024
_KEYWORD_ENDS = re.compile(r"[,;]")
# Names of properties -> their names in front matter.
_FACTS = {"creator": "author", "created": "created", "language": "language", "subject": "subject"}


@dataclass(frozen=True, slots=True)
class PartLink:
    """A link from one part of a package to another: the last word of its type, and the name of the part."""

    type: str
    target: str


def relationships(archive: Archive, part: str) -> Mapping[str, PartLink]:
    """The relationships of a part by their ids, without those to other files; "" is the package itself."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if not archive.has(path):
        return {}
    found = {}
    for link in children(parse_xml(archive.read(path)), "Relationship"):
        if attribute(link, "TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, attribute(link, "Target"))).lstrip("/")
            found[attribute(link, "Id")] = PartLink(attribute(link, "Type").rpartition("/")[2], target)
    return found


def main_part(archive: Archive, usual: str, format: str) -> str:
    """The name of the part that a package is about. Raises ``UnreadableFile`` if there is none."""
    targets = (link.target for link in relationships(archive, "").values() if link.type == "officeDocument")
    part = next(filter(archive.has, (*targets, usual)), "")
    if not part:
        raise UnreadableFile(f"is a ZIP archive, but not a {format} file (no {usual})")
    return part


def properties(archive: Archive) -> tuple[str, Mapping[str, Any]]:
    """The title that a package states, and other facts; properties that cannot be read are passed over."""
    try:
        root = parse_xml(archive.read(_PROPERTIES, _LARGEST_PROPERTIES_BYTES))
    except UnreadableFile:
        return "", {}
    values = {local_name(element): one_line(element.text or "") for element in root}
    return values.get("title", ""), facts_of(values)


def facts_of(values: Mapping[str, str]) -> dict[str, Any]:
    """The facts among these properties, under the names of front matter."""
    facts: dict[str, Any] = {fact: values[name] for name, fact in _FACTS.items() if values.get(name)}
    if tags := [tag for part in _KEYWORD_ENDS.split(values.get("keywords", "")) if (tag := part.strip())]:
        facts["tags"] = tags
    return facts


def formula(element: Element) -> str:
    """The text of an equation on one line: fractions with a slash, exponents raised."""
    parts = [formula(child) for child in element if not local_name(child).endswith("Pr")]
    match local_name(element):
        case "t":
            return str(element.text or "")
        case "f":
            return "/".join(parts)
        case "sup":
            return raise_number("".join(parts))
        case _:
            return "".join(parts)


def texts(element: Element, name: str) -> str:
    """The text of all elements of this name below ``element``, joined."""
    return "".join(below.text or "" for below in element.iter() if local_name(below) == name)
