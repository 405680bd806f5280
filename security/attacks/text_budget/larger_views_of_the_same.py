# surface: held
# A run takes in more passage text than it may: small views first, then the whole; pieces; many questions at once.
from winnow.security.script_server import STORE, make_pages, results_of
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

LIMIT = 1024 * 1024
COLLECT = """
from winnow import SDKError
seen = {}
def keep(rows):
    for row in rows:
        key = row.get("id")
        for text in (row.get("preview"), row.get("quote"), row.get("content")):
            if text:
                seen.setdefault(key, {})[text] = len(text.encode())
def taken():
    return sum(max(texts.values()) for texts in seen.values())
"""
WAYS = (
    # A preview of each passage, then the whole of it.
    """
for page in range(40):
    for mode in ("preview", "full", "full"):
        try:
            keep(semantic_search(f"canary of page {page}", top_k=100, response_mode=mode))
        except SDKError:
            pass
""",
    # Batches, whose questions are answered at once.
    """
for start in range(0, 40, 10):
    questions = [f"canary of page {page}" for page in range(start, start + 10)]
    try:
        for page in search_many(questions, top_k=100, response_mode="full"):
            keep(page)
    except SDKError:
        pass
""",
    # Refused answers again and again, and by other calls.
    """
for page in range(40):
    ids = semantic_search(f"canary of page {page}", top_k=100).ids
    for ask in (lambda: fetch(ids), lambda: fetch(ids[:50]), lambda: fetch(ids[:10]), lambda: fetch(ids[:1])):
        try:
            keep(ask())
        except SDKError:
            pass
""",
)


def _most_taken(limit):
    settings = load_settings(**STORE, script_text_mb=limit, wall_seconds=60)
    codes = (f"{COLLECT}{way}return taken()" for way in WAYS)
    return results_of(open_application(settings, wait_for_model=False), codes)


def control():
    make_pages(40)
    return min(_most_taken(64)) > LIMIT


def surface():
    make_pages(40)
    return max(_most_taken(1)) > LIMIT
