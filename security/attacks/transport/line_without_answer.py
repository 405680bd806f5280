# surface: held
# A line that cannot be parsed is dropped, and its client waits for an answer until its timeout.
import json

from winnow.security.loopback_servers import exchange_lines

DROPS = """
import json, sys
for line in sys.stdin:
    try:
        asked = json.loads(line)
        assert isinstance(asked.get("params", {}), dict) and "\\\\ud" not in line
    except Exception:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""
DEEP = "[" * 50_000 + "]" * 50_000
LINES = (
    r'{"method":"tools/call","params":{"name":"help","arguments":{"topic":"\ud83d"}},"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":[]}',
    f'{{"method":"tools/list","params":{{"x":{DEEP}}},"jsonrpc":"2.0","id":3}}',
    '{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"x":"' + "a" * 5_000_000 + '"}}',
)


def breached(program=""):
    answered = {said["id"] for said in exchange_lines([line.encode() for line in LINES], program=program)}
    return not {1, 2, 3, 4} <= answered


def control():
    return breached(DROPS)


def surface():
    return breached()
