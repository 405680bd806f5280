# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import difflib
started = time.monotonic()
difflib.SequenceMatcher(None, "ab" * 1_500, "ba" * 1_500, autojunk=False).ratio()
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
