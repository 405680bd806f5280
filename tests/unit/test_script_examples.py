"""The examples of scripts in the documentation run as agents would send them, and give what they should.

Recipes are in tests/unit/test_docs.py. ``python -m tests.unit.test_script_examples`` records what the examples
print and return; numbers that depend on the model, the machine or the moment are not kept. The model runs in full
precision: int8 vectors differ from processor to processor, by enough to change the order of passages that answer
equally little.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.ingesting import ingest_paths
from tests.unit.test_docs import RECIPES, REPEATED, SCRIPT_EXAMPLES, write_notes
from winnow.sandbox import Outcome
from winnow.server.backends.models.installed import loading, table, weights
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import DIRECT, Caller
from winnow.server.settings.loading import load_settings

RECORD = "record it with python -m tests.unit.test_script_examples"
RECORDED = Path(__file__).parents[1] / "golden" / "script_examples.json"
EXAMPLES = {example: page for page, example in SCRIPT_EXAMPLES if example not in RECIPES.values()}
# What the examples are about, besides the notes.
GUIDES = {
    "retries.md": """---
vendor: acme
tags: [guide]
---
# Retry policy

Every client of Acme retries a failed call, retries: 3 by default. A retry waits twice as long as the last.
Error E1042 says that the retries ended. RETRY_LIMIT and RETRY_WAIT change this; timeouts end a try, not a call.

| Variable | Default | Unit |
|---|---|---|
| RETRY_LIMIT | 3 | |
| RETRY_WAIT | 100 | ms |
""",
    "backups.md": """---
tags: [guide]
---
# Backups

A backup is kept for thirty days. See [the notes](../backups.md).
""",
}
BIBLIOGRAPHY = "@book{hopper52, title={Settings}, author={Hopper, Grace}, year={1952}, file={settings.md}}\n"
CLAIMS = {
    "A backup is kept for thirty days.": "A backup is kept for thirty days.",
    "Backups are kept for forty days.": "A backup is kept for forty days.",
}
# Ids (and words that could be one: an id of letters alone is rare, but comes), scores, seconds, dates.
_CHANGING = re.compile(r"\b(?:[0-9a-v]{10}|[0-9a-v]{12})\b|\d+\.\d+|\d{4}-\d\d-\d\dT[\d:.]+Z?")


def write_library(folder: Path) -> Path:
    """The notes, and guides whose texts the examples ask for."""
    write_notes(folder)
    (folder / "guides").mkdir()
    for name, text in GUIDES.items():
        (folder / "guides" / name).write_text(f"{text}\n{REPEATED * 3}\n", "utf-8")
    return folder


def write_model(models: Path) -> Path:
    """A folder of models with the default one, whose weights are in full precision."""
    folder = loading.model_folder(models)
    folder.mkdir(parents=True)
    carrier = weights.find_installed_carrier()
    assert carrier is not None
    loading.write_float32(carrier, folder / table.MODEL)
    shutil.copyfile(carrier / table.TOKENIZER, folder / table.TOKENIZER)
    loading._write_record(folder)
    return models


def run_examples(folder: Path) -> dict[str, Outcome]:
    """The outcome of every example, one after the other in one session, over a store in this folder."""
    options: dict[str, Any] = {"store": folder / "store", "project": "notes", "tools": "all,claims"}
    models = write_model(folder / "models")
    settings = load_settings(**options, models=models, enable_writes=True, daemon="off")
    (folder / "library.bib").write_text(BIBLIOGRAPHY, "utf-8")
    backends = open_backends(settings, wait_for_model=True)
    try:
        target = target_of(settings, backends, backends.embedder.ready())
        ingest_paths(target, [write_library(folder / "notes")], references=folder / "library.bib")
    finally:
        backends.close()

    async def run() -> dict[str, Outcome]:
        async with open_application(settings, wait_for_model=True) as application:
            await application.ready()
            await _write_claims(application)
            return {example: await application.scripts.run(example) for example in EXAMPLES}

    return asyncio.run(run())


async def _write_claims(application: Application) -> None:
    """Two claims, each with the sentence that it cites; the second sentence stands nowhere."""
    caller = Caller("examples", DIRECT)
    found = await application.kb.call("kb.search", {"query": "how long is a backup kept", "top_k": 1}, caller)
    passage = found.payload["results"][0]["section_id"]
    claims = [
        {"text": text, "evidence": [{"section_id": passage, "quote": quote}]} for text, quote in CLAIMS.items()
    ]
    entry = {"topic": "backups", "title": "How long backups are kept", "claims": claims}
    await application.kb.call("claims.write", entry, caller)


def shown(outcome: Outcome) -> list[str]:
    """What an example prints, or else returns, without what changes from run to run."""
    text = outcome.stdout or ("" if outcome.result is None else json.dumps(outcome.result, ensure_ascii=False))
    return _CHANGING.sub("*", text).splitlines()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    return run_examples(tmp_path_factory.mktemp("examples"))


@pytest.mark.walls
@pytest.mark.skipif(
    weights.find_installed_carrier() is None, reason=f"the package {table.CARRIER.requirement} is not installed"
)
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_a_script_gives_what_was_recorded(example: str, outcomes: dict[str, Outcome]) -> None:
    """Readers copy the examples. After a change that is meant, record them again and read the difference."""
    outcome = outcomes[example]
    assert (outcome.status, outcome.error) == ("ok", None), f"{EXAMPLES[example]}: {outcome.error}"
    recorded = json.loads(RECORDED.read_text("utf-8")).get(example)
    assert shown(outcome) == recorded, f"an example of {EXAMPLES[example]}; if this is right: {RECORD}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        recorded = {example: shown(outcome) for example, outcome in run_examples(Path(temporary)).items()}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", "utf-8")
