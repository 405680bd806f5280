# surface: held
# An exception class named QUEUE_FULL makes clients retry a script for ever.
import asyncio

from winnow.sandbox import Sandbox
from winnow.server.tools.execute_code import to_payload

NAMES = ("QUEUE_FULL", "TIMEOUT", "SANDBOX_CRASH", "RATE_LIMIT", "SDK_ROWS", "SDK_TEXT", "CallLimit")
WAYS = (
    "class {0}(Exception): pass\nraise {0}('x')",
    "class E(Exception): pass\nE.__name__ = '{0}'\nraise E('x')",
    "raise SDKError('{0}', 'x', limit=True)",
    "e = SDKError('x', 'x')\ne.type, e.limit = '{0}', True\nraise e",
)


def control():
    error = {"type": "QUEUE_FULL"}
    return {"QUEUE_FULL": True}.get(error["type"]) is True


async def _reasons():
    async with Sandbox() as sandbox:
        return [
            to_payload(await sandbox.run(way.format(name)))["error"]["details"] for way in WAYS for name in NAMES
        ]


def surface():
    usual = {"reason": "USER_CODE_ERROR", "retryable": False}
    return any(details != usual for details in asyncio.run(_reasons()))
