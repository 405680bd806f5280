# surface: held
# A run takes in more passage text than it may as what scans return beside their contexts: matches, groups, keys.
from winnow.security.script_server import STORE, make_pages, results_of
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

LIMIT = 1024 * 1024
COLLECT = """
from winnow import SDKError
texts = set()
def keep(pattern, **options):
    try:
        for page in scan(pattern, limit=1_000, **options).pages():
            for row in page:
                texts.update(row.groups if "groups" in row else [row.key])
    except SDKError:
        pass
"""
WAYS = (
    "keep(r'(?s)(.{470})', group_by=1)",
    "keep(r'(?s).{460}', group_by='match')",
    "keep(r'(?s)(.{480})(.{480})', context=0)",  # of a match, the first 500 characters are shown
)


def _taken(limit):
    settings = load_settings(**STORE, script_text_mb=limit, wall_seconds=60)
    codes = (f"{COLLECT}{way}\nreturn sum(len(text.encode()) for text in texts)" for way in WAYS)
    return results_of(open_application(settings, wait_for_model=False), codes)


def control():
    make_pages(40)
    return min(_taken(64)) > LIMIT


def surface():
    make_pages(40)
    return max(_taken(1)) > LIMIT
