# surface: held
# Markdown is nested, unclosed and repeated so that a script that asks for its parts takes the server's time with it, or
# claims parts that no reader sees: a table in code, a link in a comment, a row below another document's label.
import re
import time
from pathlib import Path

from winnow.security.script_server import run_scripts
from winnow.security.surface import winnow
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

STORE = {"store": "store", "daemon": "off", "embedding": "off"}
MANY, SECONDS = 15_000, 30.0
SLOW = {
    "brackets": "[" * MANY + "]" * MANY,
    "targets": '[a](b "' * MANY,
    "open": "[a](((" * MANY,
    "items": "- " * MANY + "\n" * MANY,
    "quotes": ("> " * 30 + "```\n") * (MANY // 30) + ">" * MANY,
    "bars": "a|b\n-|-\n" + "|" * MANY + "\n|" * MANY,
    "ticks": " ".join("`" * length for length in range(1, 170)) + "`a``" * MANY,
    "labels": "[a]: b\n\n" + "[a][b" * MANY,
    "markup": "<a" * MANY + "<!--" * MANY,
}
HIDDEN = """# Limits

| Limit | Value |
|---|---|
| reads | 3 |

```
| Limit | Value |
|---|---|
| reads | 900 |

[code](https://forged.example/code)
```

<!--
| Limit | Value |
|---|---|
| reads | 901 |

[comment](https://forged.example/comment)
-->

    | Limit | Value |
    |---|---|
    | reads | 902 |

`[span](https://forged.example/span)` and ![picture](https://forged.example/picture)
"""
ASKED = """
counts = {}
for name in NAMES:
    counts[name] = [len(sections(name)), len(code_blocks(name)), len(tables(name)), len(links(name))]
found = row("reads", "hidden.md")
return counts, [found.value, len(found.others)], [link.target for link in links("hidden.md")]
"""


def control():  # the usual patterns for links and for rows: slow on the one, deceived by the other
    started = time.monotonic()
    re.findall(r"\[[^\]]*\]\(", "[" * 6 * MANY)
    rows = re.findall(r"^\s*\| reads \| (\d+) \|", HIDDEN, re.M)
    return time.monotonic() - started > 1.0 and rows == ["3", "900", "901", "902"]


def surface():
    Path("documents").mkdir()
    for name, text in {**SLOW, "hidden": HIDDEN}.items():
        Path(f"documents/{name}.md").write_text(f"# A page\n\n{text}\n", "utf-8")
    ingested = winnow("ingest", "documents", "--store", "store")
    assert ingested.returncode == 0, ingested.stderr
    started = time.monotonic()
    server = open_application(load_settings(**STORE, wall_seconds=60), wait_for_model=False)
    names = [f"{name}.md" for name in SLOW]
    (outcome,) = run_scripts(server, [("one", f"NAMES = {names!r}\n{ASKED}")])
    assert outcome.status == "ok", outcome.error
    _, row, targets = outcome.result
    return time.monotonic() - started > SECONDS or row != ["3", 0] or targets != []
