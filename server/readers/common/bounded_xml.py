"""XML of office documents: parsed with bounds, and without document types, entities or other files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from winnow.server.readers.documents import UnreadableFile

# A report of 1,000 pages has 300,000 elements, nested 30 deep; an element takes about 300 bytes.
MOST_ELEMENTS = 1_500_000
DEEPEST_ELEMENT = 200


def parse_xml(data: bytes) -> Element:
    """The root element; names are ``{namespace}name``.

    Raises ``UnreadableFile`` for XML that is not well-formed, exceeds a bound, or declares entities. A document
    type without declarations is passed over.
    """
    builder = _BoundedBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _check_document_type
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UnreadableFile(f"its XML is not well-formed ({expat.ErrorString(error.code)})") from None
    except (LookupError, ValueError):  # an encoding that is not known
        raise UnreadableFile("its XML has an unknown encoding") from None
    return builder.close()


def local_name(element: Element) -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """The value of the attribute with this name in any namespace; "" if there is none."""
    value = element.get(name)
    if value is not None:
        return value
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def find(element: Element, *names: str) -> Element | None:
    """The first element on a path of child names, namespaces apart; None if there is none."""
    for name in names:
        below = next(children(element, name), None)
        if below is None:
            return None
        element = below
    return element


def children(element: Element, name: str) -> Iterator[Element]:
    """The children of this name, namespaces apart."""
    return (child for child in element if local_name(child) == name)


def descendants(element: Element, name: str) -> Iterator[Element]:
    """All elements of this name below ``element`` in the order of the document, namespaces apart."""
    return (below for below in element.iter() if local_name(below) == name)


class _BoundedBuilder:
    """Builds a tree and counts its elements and their depth."""

    def __init__(self) -> None:
        self._tree = TreeBuilder()
        self._elements = 0
        self._depth = 0
        self.data = self._tree.data
        self.close = self._tree.close

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element. Raises ``UnreadableFile`` beyond a bound."""
        self._elements += 1
        self._depth += 1
        if self._depth > DEEPEST_ELEMENT:
            raise UnreadableFile("its XML is nested too deeply")
        if self._elements > MOST_ELEMENTS:
            raise UnreadableFile(f"its XML has more than {MOST_ELEMENTS:,} elements")
        self._tree.start(_qualified(name), {_qualified(key): value for key, value in attributes.items()})

    def end(self, name: str) -> None:
        """Close an element."""
        self._depth -= 1
        self._tree.end(_qualified(name))


def _qualified(name: str) -> str:
    return "{" + name if "}" in name else name


def _check_document_type(name: str, system: str | None, public: str | None, has_declarations: Any) -> None:
    if has_declarations:
        raise UnreadableFile("its XML has a document type with declarations, which office documents never have")


def _refuse_entities(*declaration: Any) -> None:
    raise UnreadableFile("its XML declares entities, which office documents never do")
