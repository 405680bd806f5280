# surface: held | seconds: 300
# The script of a client becomes a task, and goes on after the client's key was revoked.
import json
import time

from winnow.security.loopback_servers import (
    add_key,
    bearer,
    call_method,
    make_store,
    request_head,
    send_raw,
    serve_product,
)
from winnow.security.surface import winnow

TASKS = ("io.modelcontextprotocol/tasks",)
SCRIPT = {"name": "execute_code", "arguments": {"code": "while True:\n    pass\n"}}
RUNNING = {"of a key that ended": True}  # on a server that looks at keys when a request comes, and never again


def control():
    return RUNNING["of a key that ended"]


def running_scripts(port, key):
    _, answer = send_raw(port, request_head("/health", "host: localhost", bearer(key)))
    return json.loads(answer[answer.index(b"{") :])["queue"]["running"]


def surface():
    make_store()
    ended, operator = add_key("ended"), add_key("operator")
    with serve_product("127.0.0.1", "--execute-code") as port:
        answer, _ = call_method(port, "tools/call", SCRIPT, bearer(ended), extensions=TASKS)
        assert answer["result"]["resultType"] == "task", answer
        assert winnow("key", "revoke", "ended", "--store", "store").returncode == 0
        running = [running_scripts(port, operator)]
        time.sleep(4)
        running.append(running_scripts(port, operator))
    assert running[0] == 1, running
    return running[1] != 0
