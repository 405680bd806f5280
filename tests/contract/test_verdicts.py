"""Whether the knowledge base answers: verdict, confidence and missing terms, within the scope of a call."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from winnow.server.backends.models.installed.table import DEFAULT
from winnow.server.backends.models.installed.weights import find_installed_carrier
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts.evidence import MAX_MISSING_TERMS
from winnow.server.ingest.pipeline import RawDocument, ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.operations.answer_judgement import judge_answer
from winnow.server.operations.base import DIRECT, Caller, RankingCache, RequestContext
from winnow.server.operations.ranking.candidates import fetch_by_id, rank_distinct
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.runtime.deadlines import deadline_after, use_deadline
from winnow.server.runtime.sessions.passage_store import PassageStore
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.runtime.sessions.saved_values import SavedValues
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.anyio

HANDBOOK = "For how many days are encrypted backups kept?"
OTHER_PRODUCT = "How does Kafka rebalance partitions among consumers?"
WARNING = "no quote shown was seen to state a {} that answers"
BOTH = "For how many days are the encrypted backups of Snowflake kept?"


@pytest.fixture(scope="module", params=["meaning", "words"])
async def handbook(request: pytest.FixtureRequest, store: Path) -> AsyncIterator[Application]:
    """The handbook, searched with the model where there is one, and by words alone."""
    by_words = {"embedding": "off", "evidence": "lexical"} if request.param == "words" else {}
    settings = load_settings(store=store, project="handbook", **by_words)
    async with open_application(settings, wait_for_model=True) as application:
        yield application


async def ask(application: Application, question: str, **more: Any) -> dict[str, Any]:
    arguments = {"question": question, **more}
    return (await application.kb.call("kb.retrieve_evidence", arguments, application.caller("test"))).payload


async def test_a_question_that_the_documents_answer_is_answered(handbook: Application) -> None:
    answer = await ask(handbook, HANDBOOK)
    assert (answer["verdict"], answer["missing_terms"]) == ("answered", [])
    assert answer["confidence"] > 0.5


async def test_the_path_of_a_document_in_a_question_is_no_missing_word(handbook: Application) -> None:
    documents = (await handbook.kb.call("kb.documents", {}, handbook.caller("test"))).payload["results"]
    named = f"What does {documents[0]['file']} say, and for how many days are encrypted backups kept?"
    suffix = documents[0]["file"].rpartition(".")[2]
    assert suffix not in (await ask(handbook, named))["missing_terms"]
    absent = await ask(handbook, named.replace(documents[0]["file"], f"absent.{suffix}"))
    assert {"absent", suffix} <= set(absent["missing_terms"])


async def test_a_question_about_another_product_is_not_found_and_names_the_product(handbook: Application) -> None:
    answer = await ask(handbook, OTHER_PRODUCT)
    assert answer["verdict"] == "not_found"
    assert answer["confidence"] < 0.2
    assert answer["missing_terms"] == ["Kafka", "rebalance", "partitions", "consumers"]


@pytest.mark.parametrize("spell", [str, str.lower])
async def test_an_answer_about_something_else_than_the_product_asked_about_is_no_whole_answer(
    handbook: Application, spell: Callable[[str], str]
) -> None:
    answer = await ask(handbook, spell(BOTH))
    assert answer["verdict"] != "answered"
    assert answer["missing_terms"] == [spell("Snowflake")]
    assert "ninety days" in answer["quotes"][0]["quote"]


@pytest.mark.parametrize(
    ("question", "verdict", "unstated"),
    [
        ("On which port are encrypted backups kept before they leave the machine?", "partly", "port"),
        ("When were encrypted backups kept before they leave the machine?", "partly", "date"),
        ("Which version of AES are encrypted backups kept with before they leave the machine?", "answered", None),
        (
            "Who wrote that encrypted backups are kept for ninety days before they leave the machine?",
            "partly",
            "name",
        ),
        ("Why are encrypted backups kept before they leave the machine?", "answered", None),
        ("Which port does the gateway listen on by default?", "answered", None),
        (HANDBOOK, "answered", None),
    ],
)
async def test_a_question_for_a_value_is_answered_in_part_where_no_passage_states_one(
    handbook: Application, question: str, verdict: str, unstated: str | None
) -> None:
    answer = await handbook.kb.call("kb.retrieve_evidence", {"question": question}, handbook.caller("test"))
    warnings = [warning for warning in answer.warnings if "was seen" in warning]
    assert (answer.payload["verdict"], warnings) == (verdict, [WARNING.format(unstated)] if unstated else [])


async def test_every_page_and_every_number_of_quotes_has_the_same_verdict(handbook: Application) -> None:
    first = await ask(handbook, "who reads this page first", max_quotes=1)
    second = await ask(handbook, "who reads this page first", max_quotes=1, cursor=first["next_cursor"])
    assert first["next_cursor"]
    for field in ("verdict", "confidence", "missing_terms"):
        assert second[field] == first[field]


async def test_quotes_from_known_passages_have_no_verdict(handbook: Application) -> None:
    passages = [row["passage_id"] for row in (await ask(handbook, HANDBOOK))["quotes"]]
    arguments = {"question": HANDBOOK, "passage_ids": passages}
    answer = await handbook.kb.call("kb.extract_evidence", arguments, handbook.caller("test"))
    assert "verdict" not in answer.payload


async def test_no_more_missing_terms_are_named_than_the_contract_has(handbook: Application) -> None:
    unknown = [f"unheard{number}of" for number in range(40)]
    answer = await ask(handbook, " ".join(unknown))
    assert len(answer["missing_terms"]) == MAX_MISSING_TERMS
    assert set(answer["missing_terms"]) < set(unknown)


# --- scope --------------------------------------------------------------------------------------------------

RULE = "The proxy forwards requests to the gate."
DOCUMENTS = {
    "inside": ("prod", "v1", f"{RULE} It listens on Heron."),
    "other environment": ("dev", "v1", f"{RULE} It listens on Bittern."),
    "other doc tag": ("prod", "v2", f"{RULE} It listens on Egret."),
}
BIRDS = "Does the proxy listen on Heron, Bittern, Egret, Stork or Osprey?"


KEPT = "Encrypted backups are kept for ninety days and then destroyed. A copy lies in another country."
PARAPHRASED = "After how many weeks are old snapshots of backup data erased?"


async def ask_with(embedder: str, folder: Path, question: str) -> dict[str, Any]:
    """The answer to a question over a store of one document, made with this model."""
    settings = load_settings(store=folder, project="p", embedder=embedder, graph="off", execute_code="off")
    backends = open_backends(settings, wait_for_model=True)
    try:
        rule = RawDocument("rule.md", "markdown", "Backups", KEPT)
        ingest_documents(target_of(settings, backends, backends.embedder.ready()), "made", [rule])
    finally:
        backends.close()
    async with open_application(settings, wait_for_model=True) as application:
        return await ask(application, question)


async def judge_with(embedder: str, folder: Path) -> tuple[str, float]:
    """Verdict and confidence of a paraphrased question."""
    answer = await ask_with(embedder, folder, PARAPHRASED)
    return answer["verdict"], answer["confidence"]


@pytest.mark.skipif(find_installed_carrier() is None, reason="the default model is not installed")
async def test_a_model_in_a_folder_judges_as_the_same_model_by_name(tmp_path: Path) -> None:
    by_name = await judge_with("minilm", tmp_path / "by name")
    shutil.copytree(load_settings().models / DEFAULT.folder, tmp_path / "copy")
    (tmp_path / "copy" / "sentence_bert_config.json").write_text('{"max_seq_length": 256}', encoding="utf-8")
    assert await judge_with(f"onnx:{tmp_path / 'copy'}", tmp_path / "by folder") == by_name
    assert by_name[0] == "partly"


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents with a word of their own each, and one in another project."""
    folder = tmp_path_factory.mktemp("labelled")
    settings = load_settings(store=folder, project="p", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        documents = [
            RawDocument(f"{name}.md", "markdown", name, text, environment=environment, doc_tag=tag)
            for name, (environment, tag, text) in DOCUMENTS.items()
        ]
        ingest_documents(target_of(settings, backends, None), "made", documents)
        other = settings.model_copy(update={"project": "q"})
        stork = RawDocument("stork.md", "markdown", "Stork", f"{RULE} It listens on Stork.")
        ingest_documents(target_of(other, backends, None), "made", [stork])
    finally:
        backends.close()
    return folder


async def missing_in(store: Path, arguments: dict[str, Any] | None = None, **confined: Any) -> list[str]:
    settings = load_settings(store=store, project="p", embedding="off", execute_code="off", **confined)
    async with open_application(settings, wait_for_model=True) as application:
        answer = await ask(application, **{"question": BIRDS, **(arguments or {})})
        return list(answer["missing_terms"])


async def test_a_word_that_only_documents_out_of_scope_have_is_missing(labelled: Path) -> None:
    assert await missing_in(labelled) == ["Stork", "Osprey"]
    assert await missing_in(labelled, environment="prod") == ["Bittern", "Stork", "Osprey"]
    assert await missing_in(labelled, doc_tags=("v1",)) == ["Egret", "Stork", "Osprey"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"scope": {"doc_tags": ["v2"]}}, ["Heron", "Bittern", "Stork", "Osprey"]),
        ({"scope": {"environment": "dev"}}, ["Heron", "Egret", "Stork", "Osprey"]),
        ({"filters": {"doc_tag": ["v1"]}}, ["Egret", "Stork", "Osprey"]),
        ({"question": f"doc_tag:v1 {BIRDS}"}, ["Egret", "Stork", "Osprey"]),
    ],
)
async def test_scope_filters_and_fields_of_the_question_narrow_what_a_word_is_looked_up_in(
    labelled: Path, arguments: dict[str, Any], expected: list[str]
) -> None:
    assert await missing_in(labelled, arguments) == expected


async def test_a_word_out_of_scope_changes_neither_verdict_nor_confidence(labelled: Path) -> None:
    settings = load_settings(store=labelled, project="p", embedding="off", environment="prod", doc_tags=("v1",))
    async with open_application(settings, wait_for_model=True) as application:
        answers = [
            await ask(application, f"Does the proxy listen on {bird}?") for bird in ("Egret", "Stork", "Osprey")
        ]
    assert len({(answer["verdict"], answer["confidence"]) for answer in answers}) == 1


# --- bounds -------------------------------------------------------------------------------------------------


@pytest.mark.own_store
def test_without_time_no_word_is_looked_up_and_passages_by_id_have_no_verdict(labelled: Path) -> None:
    settings = load_settings(store=labelled, project="p", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        session = PassageStore(1 << 20, 60.0).session("test")
        caller = Caller("test", DIRECT)
        context = RequestContext(
            backends, settings, caller, session, RankingCache(), ResultStore(60.0), SavedValues(60.0)
        )
        filters = filters_of(context, None)
        ranking = rank_distinct(context, BIRDS, filters, 5, 5)
        assert judge_answer(context, ranking).missing == ("Stork", "Osprey")
        with use_deadline(deadline_after(0.5)):
            assert judge_answer(context, ranking).missing == ()
        fetched = fetch_by_id(context, [ranking.candidates[0].passage.chunk.id], filters, None, 0.0)
        with pytest.raises(ValueError, match="by id"):
            judge_answer(context, fetched)
    finally:
        backends.close()
