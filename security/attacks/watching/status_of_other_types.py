# surface: held
# The file with the state of watched paths has other types and times: commands that show it end with a traceback.
import json
from datetime import UTC, datetime
from pathlib import Path

from winnow.security.surface import winnow
from winnow.security.watched_folder import STORE, add_notes, make_folders

ROWS = ({"files": "many", "scanned_at": 1}, {"written": [1]}, {"scanned_at": 1e18}, {"failures": 5}, {"held": None})


def control():
    try:
        datetime.fromtimestamp(ROWS[2]["scanned_at"], UTC)
    except (OverflowError, OSError, ValueError):
        return True
    return False


def surface():
    notes, _ = make_folders()
    add_notes()
    for row in ROWS:
        state = {"source": "notes", "path": str(notes), "project": "default", "state": "events", **row}
        Path("store/watching.json").write_text(json.dumps({"paths": [state]}))
        done = winnow("sources", "list", *STORE)
        if done.returncode != 0 or b"Traceback" in done.stderr or b"notes" not in done.stdout:
            return True
    return False
