"""Runs scripts on plain CPython: a list of sources on stdin, what each printed and how it ended on stdout, as JSON.

Each runs in a process of its own, which has the SDK and the library behind it, and where its errors print to stdout.
"""

import ast
import asyncio
import contextlib
import io
import json
import os
import runpy
import sys
import types
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = runpy.run_path(str(HERE / "library.py"))


def ask(method, params, each=()):
    """The SDK's transport: every call is answered from the library."""
    if each:
        return [LIBRARY["answer"](method, {**params, **more}) for more in each]
    return LIBRARY["answer"](method, params)


def run(source):
    """What the script printed, and the exception that ended it, if one did."""
    import client_sdk

    client_sdk.transport.connect(ask)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(module).update({name: getattr(client_sdk, name) for name in client_sdk.__all__})
    sys.argv = [""]
    ended = None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            code = compile(source, "<script>", "exec", flags=flags, dont_inherit=True)
            value = eval(code, vars(module))
            if asyncio.iscoroutine(value):
                asyncio.run(value)
        except SystemExit as error:
            ended = ["SystemExit", str(error)] if error.code else None
        except BaseException as error:
            ended = [type(error).__name__, str(error)]
    return [out.getvalue(), ended]


def apart(source):
    """The same in a child process."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        with os.fdopen(writing, "w") as pipe:
            json.dump(run(source), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = json.load(pipe)
    os.wait()
    return told


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[2]))
    json.dump([apart(source) for source in json.load(sys.stdin)], sys.stdout)
