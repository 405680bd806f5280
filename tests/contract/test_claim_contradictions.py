"""Contradictions of claims that a model of the operator finds (setting ``nli_model``), over a real store."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import application_over
from tests.research_store import MINE, research_backends, research_settings
from tests.tiny_models import write_nli_model
from winnow.server.backends.models.embedders import LazyEmbedder
from winnow.server.backends.models.entailment import EntailmentModel
from winnow.server.backends.opening import Backends
from winnow.server.claims.store import Notebook
from winnow.server.errors import WinnowError
from winnow.server.operations.base import Answer
from winnow.server.operations.claims import model_contradictions
from winnow.server.operations.knowledge import DIRECT, Caller, KnowledgeBase
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.anyio

QUOTE = "The proxy stands before the gateway."
OTHER_QUOTE = "the proxy knows the policy of the gateway"
FIRST, OPPOSED = "The proxy stands first.", "The proxy never stands first."


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, Backends]]:
    home = tmp_path_factory.mktemp("contradictions")
    model = write_nli_model(home / "nli small")
    settings = research_settings(home, tools="claims", enable_writes=True, nli_model=model)
    with research_backends(settings) as backends:
        yield settings, backends


class Writer:
    """A client with an access key, and so with a notebook of its own."""

    def __init__(self, kb: KnowledgeBase, passage: str, key: str) -> None:
        self._kb, self._passage = kb, passage
        self._caller = Caller(key_name(key, [], is_read_only=False, calls_per_minute=None), DIRECT)

    async def call(self, operation: str, **arguments: Any) -> Answer:
        return await self._kb.call(f"claims.{operation}", arguments, self._caller)

    async def write(self, *texts: str, quote: str = QUOTE, **more: Any) -> Answer:
        """Write an entry whose claims have this quote."""
        evidence = [{"section_id": self._passage, "quote": quote}]
        claims = [{"text": text, "evidence": evidence} for text in texts]
        return await self.call("write", topic="dispute", claims=claims, **more)

    async def status(self, written: Answer) -> str:
        """The status of an entry now."""
        return str((await self.call("read", entry_id=written.payload["entry_id"])).payload["integration_status"])


@asynccontextmanager
async def writing(opened: tuple[Settings, Backends], key: str, **parts: Any) -> AsyncIterator[Writer]:
    """A client of a server over the store; ``nli_model=None`` is a server without the setting."""
    settings, backends = opened
    if parts.get("nli_model", settings) is None:
        settings = settings.model_copy(update={"nli_model": None})
    found = backends.catalogue.passages(backends.catalogue.chunk_ids(MINE), MINE).values()
    passage = next(each.chunk.id for each in found if QUOTE in each.chunk.text)
    async with application_over(settings, backends, **parts) as (_, kb):
        yield Writer(kb, passage, key)


async def test_without_the_setting_what_contradicts_stays_a_candidate(opened: tuple[Settings, Backends]) -> None:
    assert Settings().nli_model is None
    async with writing(opened, "off", nli_model=None) as writer:
        first = await writer.write(FIRST)
        second = await writer.write(OPPOSED, quote=OTHER_QUOTE)
        assert [each["other"] for each in second.payload["candidates"]] == [f"{first.payload['entry_id']}.1"]
        assert await writer.status(first) == await writer.status(second) == "integrated"


async def test_a_contradiction_that_the_model_finds_contests_both_entries_and_names_it(
    opened: tuple[Settings, Backends],
) -> None:
    async with writing(opened, "found") as writer:
        first = await writer.write(FIRST)
        second = await writer.write(OPPOSED, quote=OTHER_QUOTE)
        assert (second.payload["integration_status"], second.payload["candidates"]) == ("contested", [])
        assert await writer.status(first) == "contested"
        related = await writer.call("related", entry_id=first.payload["entry_id"], direction="contradicts")
        (row,) = related.payload["results"][0]["contradictions"]
        assert re.fullmatch(r"nli:nli small@[0-9a-f]{12}", row["by"])
        (claim,) = (await writer.call("read", entry_id=first.payload["entry_id"])).payload["claims"]
        assert claim["friction_why"].endswith(f"; judged by {row['by']}")
        verdict = {"claim": 1, "other": f"{first.payload['entry_id']}.1", "judgement": "agrees"}
        ended = await writer.call("revise", entry_id=second.payload["entry_id"], author="ada", verdicts=[verdict])
        assert ended.payload["integration_status"] == "integrated"
        # Nor is the model asked again about what an agent judged.
        again = await writer.call("revise", entry_id=second.payload["entry_id"], title="Another title")
        assert again.payload["integration_status"] == "integrated"
    assert opened[1].claims.store.first_flaw(Notebook(MINE, "found")) is None


@pytest.mark.parametrize("word", ["seldom", "once"])
async def test_what_is_no_contradiction_from_both_sides_stays_a_candidate(
    opened: tuple[Settings, Backends], word: str
) -> None:
    """The word "seldom" is one with a probability below .9, "once" in one direction alone."""
    async with writing(opened, word) as writer:
        await writer.write(FIRST)
        second = await writer.write(f"The proxy {word} stands first.", quote=OTHER_QUOTE)
        assert (second.payload["integration_status"], len(second.payload["candidates"])) == ("integrated", 1)
        assert not [each for each in second.warnings if "nli_model" in each]


async def test_the_model_is_asked_about_the_nearest_ten_candidates(opened: tuple[Settings, Backends]) -> None:
    async with writing(opened, "many") as writer:
        await writer.write(*(f"{FIRST} {number}" for number in range(4)))
        second = await writer.write(*(f"{OPPOSED} {number}" for number in range(4)))
        assert len(second.payload["candidates"]) == 6
        verdicts = opened[1].claims.store.verdicts([second.payload["entry_id"]])
        assert len(verdicts) == model_contradictions.MAX_ASKED


async def test_entries_that_were_not_compared_are_judged_when_they_are(opened: tuple[Settings, Backends]) -> None:
    without = LazyEmbedder(opened[0].model_copy(update={"embedding": "off"}))
    async with writing(opened, "later", embedder=without) as writer:
        first = await writer.write(FIRST)
        second = await writer.write(OPPOSED, quote=OTHER_QUOTE)
        assert await writer.status(second) == "probation"
    async with writing(opened, "later") as writer:
        assert await writer.status(first) == await writer.status(second) == "contested"


async def test_what_waits_for_approval_contests_no_other_entry(opened: tuple[Settings, Backends]) -> None:
    reviewed = opened[0].model_copy(update={"review_claims": True}), opened[1]
    async with writing(opened, "review") as writer:
        first = await writer.write(FIRST)
    async with writing(reviewed, "review") as writer:
        second = await writer.write(OPPOSED, quote=OTHER_QUOTE)
        assert (second.payload["needs_review"], second.payload["integration_status"]) == (True, "contested")
        assert await writer.status(first) == "integrated"


async def test_a_folder_that_cannot_be_used_is_a_warning_and_no_failure(
    opened: tuple[Settings, Backends], tmp_path: Path
) -> None:
    async with writing(opened, "broken", nli_model=partial(EntailmentModel, tmp_path / "none")) as writer:
        await writer.write(FIRST)
        second = await writer.write(OPPOSED, quote=OTHER_QUOTE)
    assert len(second.payload["candidates"]) == 1
    assert [each for each in second.warnings if "nli_model did not judge" in each and "config.json" in each]


async def test_a_model_that_takes_too_long_is_a_warning_and_no_failure(
    opened: tuple[Settings, Backends], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_contradictions, "_SECONDS", 0.0)
    async with writing(opened, "slow") as writer:
        await writer.write(FIRST)
        second = await writer.write(OPPOSED, quote=OTHER_QUOTE)
    assert len(second.payload["candidates"]) == 1
    assert [each for each in second.warnings if each.endswith("it takes too long")]


@pytest.mark.parametrize("author", ["nli:small@0123456789ab", "NLI:x", " \u200bnli:x"])
async def test_no_agent_has_the_name_of_a_model(opened: tuple[Settings, Backends], author: str) -> None:
    async with writing(opened, "names") as writer:
        with pytest.raises(WinnowError, match="author: names with"):
            await writer.write(FIRST, author=author)
        written = await writer.write(FIRST, author="ada")
        with pytest.raises(WinnowError, match="author: names with"):
            await writer.call("revise", entry_id=written.payload["entry_id"], author=author, title="Another")


@pytest.mark.parametrize("at", [0, 1, 2])
def test_labels_may_stand_in_any_order(tmp_path: Path, at: int) -> None:
    labels = ["entailment", "neutral"]
    labels.insert(at, "contradiction")
    model = EntailmentModel(write_nli_model(tmp_path / "model", tuple(labels)))
    # The table's first logit is the one that "never" raises.
    assert (model.contradiction(FIRST, OPPOSED) > 0.9) == (at == 0)
    assert model.contradiction(FIRST, FIRST) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "configuration",
    ["{", "[]", '{"id2label": 3}', '{"id2label": {"0": "contradiction", "1": "neutral"}}', "[" * 100_000],
)
def test_a_configuration_without_the_three_labels_is_refused(tmp_path: Path, configuration: str) -> None:
    folder = write_nli_model(tmp_path / "model")
    (folder / "config.json").write_text(configuration)
    with pytest.raises(WinnowError, match="has other labels in id2label than contradiction, entailment, neutral"):
        EntailmentModel(folder)


def test_a_folder_without_a_model_of_three_logits_is_refused(
    opened: tuple[Settings, Backends], tmp_path: Path
) -> None:
    folder = write_nli_model(tmp_path / "model")
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(WinnowError, match=r"it needs model\.onnx and tokenizer\.json"):
        EntailmentModel(folder)
    embedder = Path(opened[0].embedder.whole.partition(":")[2])
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(embedder / name, folder / name)
    with pytest.raises(WinnowError, match="other than three numbers"):
        EntailmentModel(folder)
