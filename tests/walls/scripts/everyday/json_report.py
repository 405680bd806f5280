import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import date
from enum import Enum


class Level(str, Enum):
    LOW = "low"
    HIGH = "high"


@dataclass
class Finding:
    title: str
    level: Level
    when: date
    tags: list[str] = field(default_factory=list)


findings = [Finding("a", Level.HIGH, date(2026, 1, 2), ["x", "y"]), Finding("b", Level.LOW, date(2026, 1, 1), ["x"])]
report = {
    "count": len(findings),
    "by_level": Counter(f.level.value for f in findings),
    "first": min(f.when for f in findings),
    "tags": sorted({t for f in findings for t in f.tags}),
    "findings": [asdict(f) for f in sorted(findings, key=lambda f: f.when)],
}
print(json.dumps(report, indent=2, default=str, sort_keys=True))
