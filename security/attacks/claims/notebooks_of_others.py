# surface: held
# An agent with one key, or its script, reads, revises or judges entries of another key and of a project out of reach.
import asyncio
import itertools

from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook, View
from winnow.server.commands.entry.app import open_application
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import DIRECT, SCRIPT, Caller
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings

SECRET = "volcano"
SETTINGS = {
    "store": "store", "project": "mine", "daemon": "off", "embedding": "off", "graph": "off", "enable_writes": True,
    "tools": "all,claims",
}


def write(kb, key, text):
    arguments = {"topic": "t", "claims": [{"text": text}]}
    return asyncio.wait_for(kb.call("claims.write", arguments, caller(key)), 60)


def caller(key, budget=DIRECT):
    return Caller(key_name(key, [], is_read_only=False, calls_per_minute=None), budget)


async def steal():
    seen = []
    async with open_application(load_settings(**SETTINGS), wait_for_model=False) as application:
        kb = application.kb
        theirs = (await write(kb, "aaaa", f"A {SECRET} at night.")).payload["entry_id"]
        own = (await write(kb, "bbbb", "A harbour.")).payload["entry_id"]
        verdict = {"claim": 1, "other": f"{theirs}.1", "judgement": "contradicts"}
        calls = [(name, {"entry_id": theirs}) for name in ("claims.read", "claims.related", "claims.revise")]
        calls += [("claims.claims", {"entry_ids": [theirs, own]}), ("claims.search", {"query": f"{SECRET} night"})]
        calls += [("claims.revise", {"entry_id": own, "verdicts": [verdict]})]
        calls += [("claims.write", {"topic": "t", "claims": [{"text": "It is so."}], "references": [theirs]})]
        calls += [("claims.write", {"topic": "t", "claims": [{"text": "It is so."}], "owner": "aaaa"})]
        calls += [(name, {}) for name in ("claims.recent", "claims.topics", "claims.status", "claims.friction")]
        calls += [("claims.search", {"query": SECRET, "project": name}) for name in ("theirs", "mine/../theirs", "%")]
        for (name, arguments), budget in itertools.product(calls, (DIRECT, SCRIPT)):
            try:
                seen.append((await kb.call(name, arguments, caller("bbbb", budget))).payload)
            except WinnowError as error:
                seen.append(error.message.replace(SECRET, ""))
    return seen


def control():
    # What a store does that is asked without a notebook.
    asyncio.run(steal())
    store = SqliteClaimStore(claims_path(load_settings(**SETTINGS).store))
    return any(SECRET in repr(store.listing(View(each, sees_all=True), 0, 9)) for each in store.notebooks())


def surface():
    seen = asyncio.run(steal())
    store = SqliteClaimStore(claims_path(load_settings(**SETTINGS).store))
    changes = store.history(Notebook("mine", "aaaa"))
    return SECRET in repr(seen) or len(changes) != 1
