# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
import json
started = time.monotonic()
branches = [0]
for _ in range(20):
    branches = [branches, branches]
json.dumps(branches)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
