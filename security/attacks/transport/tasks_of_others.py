# surface: held | seconds: 300
# A client of the 2026 protocol reads or cancels the task of another client, whose id it knows.
import time

from winnow.security.loopback_servers import call_method, make_store, serve_product, search_canary

TASKS = ("io.modelcontextprotocol/tasks",)
# It goes on until it is cancelled, so that the call becomes a task.
CODE = """
while True:
    pass
"""
SHARED = {}  # what a server does whose tasks are everybody's


def control():
    SHARED["call_1"] = "The canary sings at dawn."
    return "canary" in SHARED.get("call_1", "")


def surface():
    make_store()
    with serve_product("127.0.0.1", "--execute-code") as port:

        def ask(method, params, *lines):
            return call_method(port, method, params, *lines, extensions=TASKS)

        _, cookie = search_canary(port)
        search_canary(port, f"cookie: {cookie}")  # returned: from now on the session is this client's
        script = {"name": "execute_code", "arguments": {"code": CODE}}
        handle = ask("tools/call", script, f"cookie: {cookie}")[0]["result"]
        assert handle["resultType"] == "task", handle
        task = {"taskId": handle["taskId"]}
        _, stranger = search_canary(port)
        for lines in ((), (f"cookie: {stranger}",), (f"cookie: {cookie[:-1]}",), (f"mcp-session-id: {cookie}",)):
            for method in ("tasks/cancel", "tasks/get"):
                answer, _ = ask(method, task, *lines)
                if "result" in answer:
                    return True
        ask("tasks/cancel", task, f"cookie: {cookie}")
        while (mine := ask("tasks/get", task, f"cookie: {cookie}")[0]["result"])["status"] == "working":
            time.sleep(0.5)
        assert mine["status"] in ("cancelled", "completed"), mine  # the latter where it met its limit before
    return False
