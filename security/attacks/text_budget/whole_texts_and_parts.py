# surface: held
# A run takes in more passage text than it may by texts, pages, parts and front matter, and by reading on after refusals.
from winnow.security.script_server import STORE, make_pages, results_of
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

LIMIT = 1024 * 1024
WAYS = (
    "kept = lambda name: [text(name)]",
    "kept = lambda name: [row.text for row in texts(name)]",
    "kept = lambda name: [row.text for row in sections(name)][:1]",
    "kept = lambda name: [text(name), read(name, max_tokens=20_000).text][:1]",
)
COLLECT = """
seen = {}
for _ in range(3):
    for page in range(40):
        try:
            for piece in kept(f"{page}.md"):
                seen[page] = max(seen.get(page, 0), len(piece.encode()))
        except SDKError:
            pass
return sum(seen.values())
"""


def _most_taken(limit):
    settings = load_settings(**STORE, script_text_mb=limit, wall_seconds=60)
    codes = (f"{way}\n{COLLECT}" for way in WAYS)
    return results_of(open_application(settings, wait_for_model=False), codes)


def control():
    make_pages(40)
    return min(_most_taken(64)) > LIMIT


def surface():
    make_pages(40)
    return max(_most_taken(1)) > LIMIT
