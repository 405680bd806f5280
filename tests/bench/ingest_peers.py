"""Other local stores that index the same chunks with the same model, measured where they are installed.

Each runs in a process of its own, with an interpreter that has it, and is filled as its documentation shows. Each
gets the model as its embedding function: the same weights, on ONNX Runtime with its default threads, on all cores,
one text per run as in winnow, so that no time goes into padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.bench.other_interpreter import run_program

_SECONDS = 900.0

# Defines fill(texts, folder); embed(texts) is given. Each stores text and vector, durably.
_MCP_SERVER_QDRANT = """
NAME = "mcp-server-qdrant"
import asyncio
from mcp_server_qdrant.embeddings.base import EmbeddingProvider
from mcp_server_qdrant.qdrant import Entry, QdrantConnector
class Given(EmbeddingProvider):
    async def embed_documents(self, documents):
        return await asyncio.get_running_loop().run_in_executor(None, embed, documents)
    async def embed_query(self, query):
        return (await self.embed_documents([query]))[0]
    def get_vector_name(self):
        return "given"
    def get_vector_size(self):
        return 384
def fill(texts, folder):
    async def run():
        connector = QdrantConnector(None, None, "bench", Given(), folder)
        for text in texts:
            await connector.store(Entry(content=text))
    asyncio.run(run())
"""
_CHROMADB = """
NAME = "chromadb"
import chromadb
class Given(chromadb.EmbeddingFunction):
    def __init__(self):
        pass
    def __call__(self, input):
        return [np.array(row, dtype=np.float32) for row in embed(input)]
def fill(texts, folder):
    client = chromadb.PersistentClient(folder, settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("bench", embedding_function=Given())
    for at in range(0, len(texts), 100):
        some = texts[at:at + 100]
        collection.add(ids=[str(at + n) for n in range(len(some))], documents=some)
"""
_LANCEDB = """
NAME = "lancedb"
import lancedb
def fill(texts, folder):
    table = None
    for at in range(0, len(texts), 100):
        some = texts[at:at + 100]
        rows = [{"text": text, "vector": vector} for text, vector in zip(some, embed(some))]
        if table is None:
            table = lancedb.connect(folder).create_table("bench", rows)
        else:
            table.add(rows)
    table.create_fts_index("text")
"""

STORES: Mapping[str, str] = MappingProxyType(
    {"mcp-server-qdrant": _MCP_SERVER_QDRANT, "chromadb": _CHROMADB, "lancedb": _LANCEDB}
)

_HARNESS = """
import importlib.metadata, json, os, sys, tempfile, time, warnings
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import numpy as np, onnxruntime
from tokenizers import Tokenizer
warnings.simplefilter("ignore")
job = json.load(sys.stdin)
tokenizer = Tokenizer.from_file(job["tokenizer"])
tokenizer.enable_truncation(job["window"])
tokenizer.no_padding()
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(
    job["model"], options, providers=["CPUExecutionProvider"], disabled_optimizers=job["disabled_optimizers"]
)
def embed(texts):
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        rows.append(session.run(None, {"input_ids": ids})[0][0].tolist())
    return rows
embed(job["texts"][:8])
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    began, busy = time.perf_counter(), time.process_time()
    fill(job["texts"], folder)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
count = len(job["texts"])
print(json.dumps({
    "version": importlib.metadata.version(NAME),
    "chunks_per_s": round(count / seconds, 1),
    "processor_ms_per_chunk": round(processor / count * 1000, 3),
}))
"""


def fill_store(python: str, store: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Fill this store once: chunks per second and processor time of each chunk, or why there are no figures."""
    return run_program(python, f"import numpy as np\n{STORES[store]}\n{_HARNESS}", job, _SECONDS)


def job_of(
    model: Path, tokenizer: Path, window: int, disabled: Sequence[str], texts: Sequence[str]
) -> dict[str, Any]:
    """The input of a peer's program."""
    return {
        "model": str(model),
        "tokenizer": str(tokenizer),
        "window": window,
        "disabled_optimizers": list(disabled),
        "texts": list(texts),
    }
