import re
from collections import Counter
from datetime import datetime

log = """2026-01-01 10:00:01 ERROR db: timeout after 30s
2026-01-01 10:00:05 INFO api: ok
2026-01-01 10:01:00 ERROR api: 500 /users
broken line"""
pattern = re.compile(r"^(?P<when>\S+ \S+) (?P<level>[A-Z]+) (?P<source>\w+): (?P<message>.*)$")
events = [m.groupdict() for line in log.splitlines() if (m := pattern.match(line))]
times = [datetime.strptime(e["when"], "%Y-%m-%d %H:%M:%S") for e in events]
print(Counter(e["level"] for e in events), max(times) - min(times), [e["message"] for e in events if e["level"] == "ERROR"])
