# surface: held
# A line of the audit file acts on the terminal that shows the file.
import json
from pathlib import Path

from winnow.server.runtime.audit import AuditLog

NAME = "E\x9b2J\x9d0;t\x9c\u202e\U000e0041\u2028{\"time\":\"forged\"}"


def control():
    return "\x9b" in json.dumps({"error": NAME}, ensure_ascii=False)


def surface():
    AuditLog(Path("audit"), 10_000, 1).write({"error": NAME})
    text = Path("audit", "executions.jsonl").read_text(encoding="utf-8")
    return len(text.splitlines()) != 1 or any(one in text for one in "\x9b\x9d\u202e\u2028\U000e0041")
