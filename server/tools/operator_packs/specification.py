"""The fields of a ``*.tool.yaml``, as they are written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TOOL_NAME = r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$"
NAME_CHARS = 40
_Name = Annotated[str, Field(pattern=TOOL_NAME, max_length=NAME_CHARS)]
_Line = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Text = Annotated[str, Field(max_length=8_000, pattern=r"^[^\x00]*$")]
_FileName = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
_Port = Annotated[int, Field(ge=1, le=65_535)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class LimitsField(_Model):
    """Sizes of one call. The defaults fit a model's context: 32 KiB of JSON is about 8,000 tokens."""

    maxInputBytes: Annotated[int, Field(ge=1, le=1024 * 1024)] = 64 * 1024
    maxOutputBytes: Annotated[int, Field(ge=1, le=256 * 1024)] = 32 * 1024
    maxMemoryMiB: Annotated[int, Field(ge=16, le=4_096)] = 512
    maxProcesses: Annotated[int, Field(ge=1, le=256)] = 64


class CapsField(_Model):
    """The capabilities of a program: the network by schemes or ports, and files beside those of its folder."""

    network: Annotated[list[Literal["http", "https", "any"] | _Port], Field(max_length=10)] = Field(
        default_factory=list
    )
    read: Annotated[list[_FileName], Field(max_length=10)] = Field(default_factory=list)


class CliField(_Model):
    """A command: its program, and arguments as templates. ``stdin``: a template in place of the input as JSON."""

    kind: Literal["cli"]
    cmd: Annotated[list[_Text], Field(min_length=1, max_length=100)]
    stdin: _Text = ""


class PythonField(_Model):
    """A script, or a function ``module:function``, of the pack's folder. ``python`` is another interpreter."""

    kind: Literal["python"]
    script: _FileName = ""
    module: Annotated[str, Field(pattern=r"^([A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*)?$", max_length=200)] = ""
    python: _FileName = ""


class NodeField(_Model):
    """A script of the pack's folder for Node.js. ``nodeBinary``: another program than the installed ``node``."""

    kind: Literal["node"]
    node: _FileName
    nodeBinary: _FileName = ""


class HttpField(_Model):
    """A request: the path and query of ``url`` are a template, as are values of ``headers`` and the ``body``."""

    kind: Literal["http"]
    url: _Text
    method: Literal["GET", "POST"] = "POST"
    headers: Annotated[dict[_HeaderName, _Text], Field(max_length=20)] = Field(default_factory=dict)
    body: _Text = ""


class EnvField(_Model):
    """Variables of the server that the program gets, or that templates may name."""

    passthrough: Annotated[list[_Variable], Field(max_length=20)] = Field(default_factory=list)


class TemplatingField(_Model):
    """``cacheKey``: answers of a deterministic tool are kept under this text."""

    engine: Literal["jinja2"] = "jinja2"
    cacheKey: _Text = ""


class SuccessField(_Model):
    """``path``: where the answer is in what the program printed, "$" for all of it."""

    path: Annotated[str, Field(pattern=r"^\$(\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,6}\])*$", max_length=200)] = "$"


class HintsField(_Model):
    """The effects of a tool. ``readOnly``: it changes nothing, so keys that may only read may call it."""

    readOnly: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None
    openWorld: bool | None = None


class Specification(_Model):
    """A whole file."""

    id: _Name
    version: Annotated[str, Field(pattern=r"^\d{1,5}\.\d{1,5}\.\d{1,5}$")]
    title: _Line = ""
    description: _Line
    deterministic: bool = False
    timeoutMs: Annotated[int, Field(ge=100, le=120_000)] = 30_000
    limits: LimitsField = Field(default_factory=LimitsField)
    caps: CapsField = Field(default_factory=CapsField)
    hints: HintsField = Field(default_factory=HintsField)
    inputSchema: dict[str, Any]
    outputSchema: dict[str, Any]
    execution: Annotated[CliField | PythonField | NodeField | HttpField, Field(discriminator="kind")]
    env: EnvField = Field(default_factory=EnvField)
    templating: TemplatingField = Field(default_factory=TemplatingField)
    onSuccess: SuccessField = Field(default_factory=SuccessField)
