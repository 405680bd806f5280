"""The records of tool packs: what a tool takes, what it runs, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from winnow.server.tools.operator_packs.schemas import Schema

ENDING = ".tool.yaml"


@dataclass(frozen=True, slots=True)
class PackProgram:
    """A program that is started for each call, and its arguments as templates; the first ones may be literal.

    ``kind`` says how it was described. ``module`` and ``function`` of a Python package in the pack's folder, which
    is called with the input and returns the answer; "" for a program that is executed as it is. ``stdin`` is a
    template; "" for the input as a line of JSON.
    """

    kind: Literal["cli", "python", "node"]
    program: Path
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    script: Path | None = None
    module: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """An HTTP address that is asked for each call.

    ``origin`` is literal ("https://host:8443"); ``path``, ``headers`` and ``body`` are templates. Without a
    ``body`` a POST sends ``{"input": ...}``.
    """

    method: Literal["GET", "POST"]
    origin: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one call."""

    seconds: float
    input_bytes: int
    output_bytes: int
    memory_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class ToolPack:
    """One tool of the operator, as its file describes it.

    ``network``: "any", or the TCP ports that it may connect to; empty for none. ``readable``: files and folders
    beside its own that its program may read. ``environment`` are names of variables of the server that it gets.
    ``cache_key`` is a template, "" where answers are not kept. ``answer_path`` leads from what it printed to its
    answer. ``digest`` changes with every file that the tool consists of. ``deterministic``: its operator says that
    it answers the same input with the same data. ``successor``: the tool to call instead, "" where it is current.
    """

    id: str
    version: str
    title: str
    description: str
    file: Path
    folder: Path
    execution: PackProgram | PackRequest
    bounds: Bounds
    takes: Schema
    answers: Schema
    digest: str
    network: tuple[int, ...] | Literal["any"] = ()
    readable: tuple[Path, ...] = ()
    environment: tuple[str, ...] = ()
    cache_key: str = ""
    answer_path: tuple[str | int, ...] = ()
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = False
    deterministic: bool = False
    successor: str = ""

    @property
    def major(self) -> int:
        """The first number of its version."""
        return int(self.version.partition(".")[0])

    @property
    def deprecation(self) -> str:
        """Advice on the replacement, as a sentence; "" where it is current."""
        return f"Deprecated: call {self.successor} instead." if self.successor else ""

    @property
    def purpose(self) -> str:
        """Its description, behind what to call instead."""
        return f"{self.deprecation} {self.description}".lstrip()

    @property
    def kind(self) -> str:
        """The word of its file for what it runs."""
        return self.execution.kind if isinstance(self.execution, PackProgram) else "http"
