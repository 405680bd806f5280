"""Reads tool packs: every ``*.tool.yaml`` below a folder of the operator, and the files that it names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from winnow.server.runtime.operator_files import LeftOut, explain_refusal
from winnow.server.text.markup.bounded_yaml import YamlRefused, parse_yaml
from winnow.server.text.printable import one_line
from winnow.server.tools.operator_packs.execution import build_execution, check_declared, check_variables, ports_of
from winnow.server.tools.operator_packs.pack_files import UnusableFile, check_folder, list_packs, locate, read_text
from winnow.server.tools.operator_packs.records import Bounds, ToolPack
from winnow.server.tools.operator_packs.schemas import Schema, SchemaRefused, read_schema
from winnow.server.tools.operator_packs.specification import NAME_CHARS, Specification
from winnow.server.tools.operator_packs.templates import TemplateRefused, check_template

MIB = 1024 * 1024
_MOST_PACKS = 100
_REASON_CHARS = 300
_MS_PER_SECOND = 1000
_REF = "$ref"
_OF_THE_KERNEL = frozenset({"proc", "sys", "dev"})
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]")
_NO_PHP = "execution.kind: php is not supported; use cli with cmd: [php, ./tool.php]"


@dataclass(frozen=True, slots=True)
class ToolPacks:
    """The tools that can be used, in the order of their files, and what was left out."""

    packs: tuple[ToolPack, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def load_packs(folders: Sequence[Path], taken: Collection[str] = ()) -> ToolPacks:
    """The tools of these folders; of two with one name the first is kept. ``taken``: wire names of other tools.

    Of several majors of one tool the newest has its name, and the one before it is deprecated and has ``.v1``, its
    major, behind the name.
    """
    read = [read_folder(folder) for folder in folders]
    found = [pack for each in read for pack in each.packs]
    left_out = [left for each in read for left in each.left_out]
    packs: list[ToolPack] = []
    names = set(taken)
    for stated in found:
        try:
            pack = _with_name(stated, {each.major for each in found if each.id == stated.id})
            name = pack.id.replace(".", "_")
            if name in names:
                raise UnusableFile(f"id: another tool already has the name {pack.id}")
        except UnusableFile as error:
            left_out.append(LeftOut(str(stated.file), str(error)))
        else:
            names.add(name)
            packs.append(pack)
    return ToolPacks(tuple(packs), tuple(left_out))


def _with_name(pack: ToolPack, majors: Collection[int]) -> ToolPack:
    """The pack under the name that its major has among these. Raises ``UnusableFile``."""
    newest, *earlier = sorted(majors, reverse=True)
    if pack.major == newest:
        return pack
    if pack.major != earlier[0]:
        raise UnusableFile(f"version: only majors {newest} and {earlier[0]} of {pack.id} are offered")
    name = f"{pack.id}.v{pack.major}"
    if len(name) > NAME_CHARS:
        raise UnusableFile(
            f"id: {name}, the name of the major before {newest}, has more than {NAME_CHARS} characters"
        )
    return replace(pack, id=name, successor=pack.id)


def read_folder(folder: Path) -> ToolPacks:
    """The tools of one folder; one that cannot be used keeps out no others."""
    folder = folder.absolute()
    packs: list[ToolPack] = []
    left_out: list[LeftOut] = []
    try:
        files = list_packs(folder)
    except (OSError, UnusableFile) as error:
        return ToolPacks((), (LeftOut(str(folder), _reason(error)),))
    for file in files[:_MOST_PACKS]:
        try:
            packs.append(_read_pack(folder, file))
        except (OSError, UnusableFile) as error:
            left_out.append(LeftOut(str(file), _reason(error)))
    if len(files) > _MOST_PACKS:
        left_out.append(LeftOut(str(folder), f"only the first {_MOST_PACKS} of its {len(files)} packs are read"))
    return ToolPacks(tuple(packs), tuple(left_out))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, PermissionError):
        return one_line(error.strerror or "it cannot be read", _REASON_CHARS)
    return one_line(str(error), _REASON_CHARS)


def _read_pack(root: Path, file: Path) -> ToolPack:
    stated = _parse(file)
    digest = check_folder(file.parent)
    find = partial(locate, root, file.parent)
    takes, used = _schema(stated.inputSchema, "inputSchema", root, file, is_object=True)
    answers, used_too = _schema(stated.outputSchema, "outputSchema", root, file)
    variables = tuple(dict.fromkeys(stated.env.passthrough))
    check_variables(variables)
    try:
        execution = build_execution(stated.execution, find, variables)
    except TemplateRefused as error:
        raise UnusableFile(f"execution: {error}") from None
    declared = stated.caps.network
    check_declared(execution, declared)
    hints, network = stated.hints, ports_of(declared)
    return ToolPack(
        stated.id,
        stated.version,
        stated.title or stated.id,
        stated.description,
        file,
        file.parent,
        execution,
        _bounds(stated),
        takes,
        answers,
        hashlib.sha256("\0".join((file.name, digest, used, used_too)).encode()).hexdigest(),
        network,
        _readable(stated.caps.read),
        variables,
        _cache_key(stated, variables),
        tuple(name or int(number) for name, number in _STEP.findall(stated.onSuccess.path)),
        hints.readOnly,
        not hints.readOnly if hints.destructive is None else hints.destructive,
        stated.deterministic if hints.idempotent is None else hints.idempotent,
        bool(network) if hints.openWorld is None else hints.openWorld,
        stated.deterministic,
    )


def _parse(file: Path) -> Specification:
    try:
        value = parse_yaml(read_text(file))
        if isinstance(value, Mapping) and _is_php(value.get("execution")):
            raise UnusableFile(_NO_PHP)
        return Specification.model_validate(value)
    except ValidationError as error:
        raise UnusableFile(explain_refusal(error)) from None
    except (YamlRefused, ValueError, RecursionError) as error:
        raise UnusableFile(str(error)) from None


def _is_php(execution: Any) -> bool:
    return isinstance(execution, Mapping) and execution.get("kind") == "php"


def _schema(
    stated: Mapping[str, Any], name: str, root: Path, file: Path, *, is_object: bool = False
) -> tuple[Schema, str]:
    """The schema, and the text of the file that it is in, "" for one within the pack's file."""
    text = ""
    reference = stated.get(_REF)
    try:
        if isinstance(reference, str) and not reference.startswith("#"):
            if len(stated) > 1 or "://" in reference:
                raise SchemaRefused("$ref alone names a file below the folder of packs; nothing else is fetched")
            text = read_text(locate(root, file.parent, reference))
            stated = json.loads(text)
        return read_schema(stated, is_object=is_object), text
    except (SchemaRefused, ValueError, RecursionError) as error:
        raise UnusableFile(f"{name}: {error}") from None


def _bounds(stated: Specification) -> Bounds:
    limits = stated.limits
    return Bounds(
        stated.timeoutMs / _MS_PER_SECOND,
        limits.maxInputBytes,
        limits.maxOutputBytes,
        limits.maxMemoryMiB * MIB,
        limits.maxProcesses,
    )


def _readable(names: Sequence[str]) -> tuple[Path, ...]:
    paths = [Path(name) for name in names]
    for path in paths:
        if not path.is_absolute() or path == Path("/") or ".." in path.parts:
            raise UnusableFile(f"caps.read: {path} is not the absolute path of a file or a folder")
        if path.resolve().parts[1] in _OF_THE_KERNEL:
            raise UnusableFile(f"caps.read: {path} shows processes and devices; no pack reads it")
        if not path.exists():
            raise UnusableFile(f"caps.read: there is no {path}")
    return tuple(paths)


def _cache_key(stated: Specification, variables: Collection[str]) -> str:
    text = stated.templating.cacheKey
    if text and not stated.deterministic:
        raise UnusableFile("templating.cacheKey: only answers of a tool with deterministic: true are kept")
    try:
        check_template(text, variables=variables)
    except TemplateRefused as error:
        raise UnusableFile(f"templating.cacheKey: {error}") from None
    return text
