"""An async function of a script runs, or the script ends with an error that it did not."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

# A call without await -> the line of the error, the name in the message, and the text of the hint.
FORGOTTEN: dict[str, tuple[str, int, str, str]] = {
    "the last line": (
        """
        async def main(): return 1
        main()
        """, 2, "main() in line 2", "await main(...)"),
    "a statement in the middle": (
        """
        async def note(text): print(text)
        note("a")
        print("b")
        """, 2, "note() in line 2", "await note(...)"),
    "a list of coroutines": (
        """
        async def work(n): return n
        jobs = [work(n) for n in range(3)]
        print(len(jobs))
        """, 2, "and 2 more", "asyncio.gather(*[work(...)"),
    "the result": (
        """
        async def main(): return 1
        return {"answer": main()}
        """, 2, "main()", "await main(...)"),
    "a method within a function": (
        """
        class Reader:
            async def read(self): return 1
        def use():
            page = Reader().read()
            return "done"
        return use()
        """, 4, "Reader.read()", "await Reader.read(...)"),
    "a task cut short in a script with nothing to show": (
        """
        import asyncio
        async def work():
            await asyncio.sleep(0.05)
            print("done")
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        """, 5, "ended before it did", "await task"),
    "a task made too late for a turn": (
        """
        import asyncio
        async def late(): print("late")
        async def work(): asyncio.create_task(late())
        async def main():
            asyncio.create_task(work())
        asyncio.run(main())
        """, 3, "the task of late()", "await task"),
    "gather without await": (
        """
        import asyncio
        async def work(n): return n
        found = asyncio.gather(work(1), work(2))
        """, 3, "needs await", "await asyncio.gather(...)"),
    "put into a queue": (
        """
        import asyncio
        queue = asyncio.Queue()
        queue.put(1)
        await asyncio.sleep(0)
        return queue.qsize()
        """, 3, "Queue.put()", "await Queue.put(...)"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGOTTEN)
def test_a_call_that_is_never_awaited_is_an_error_with_its_name_and_line(bench: Any, what: str) -> None:
    source, line, message, hint = FORGOTTEN[what]
    code = textwrap.dedent(source).strip()
    error = bench.run(code).error
    assert (error.type, error.line, error.source_line) == ("NeverAwaited", line, code.splitlines()[line - 1])
    assert (message in error.message, hint in error.hint) == (True, True), error


def test_what_was_printed_before_comes_with_it(bench: Any) -> None:
    outcome = bench.run("async def main(): pass\nprint('so far')\nmain()")
    assert (outcome.status, outcome.stdout) == ("error", "so far\n")


@pytest.mark.parametrize("line", ["for x in f(): pass", "f()[0]", "f().rows", "f() + 1", "len(f())", "{**f()}"])
def test_a_coroutine_used_as_a_value_names_the_function(bench: Any, line: str) -> None:
    error = bench.run(f"async def f(): return [1]\n{line}").error
    assert (error.type in ("TypeError", "AttributeError"), error.hint) == (True, "f() was called without await")


# Nothing is lost in these, and CPython runs them.
FINE = {
    "SDK calls with and without await": (
        """
        import asyncio
        a = kb.search("a")
        b = await kb.search("b")
        c, d = await asyncio.gather(kb.search("c"), semantic_search("d"))
        task = asyncio.create_task(kb.search("e"))
        client = MCPClient()
        e = client.semantic_search("f")
        f = await client.call_tool("fetch", {"ids": ["guide#1"]})
        return sum(map(len, [a, b, c, d, e, f]))
        """, 6),
    "a task that has its turn while the script ends": (
        """
        import asyncio
        done = []
        async def work(n): done.append(n)
        async def main():
            asyncio.create_task(work(1))
        asyncio.run(main())
        return done
        """, [1]),
    "a coroutine that is closed": (
        """
        async def f(): return 1
        c = f()
        c.close()
        return "fine"
        """, "fine"),
    "workers that wait when the script ends": (
        """
        import asyncio
        async def worker(queue, done):
            while True:
                done.append(await queue.get())
                queue.task_done()
        async def main():
            queue, done = asyncio.Queue(), []
            workers = [asyncio.create_task(worker(queue, done)) for _ in range(2)]
            for n in range(4): queue.put_nowait(n)
            await queue.join()
            return done
        return asyncio.run(main())
        """, [0, 1, 2, 3]),
    "a task cancelled before its first turn": (
        """
        import asyncio
        async def work(): return 1
        async def main():
            task = asyncio.create_task(work())
            task.cancel()
            return "fine"
        return asyncio.run(main())
        """, "fine"),
    "a sleep without await": (
        """
        import asyncio
        asyncio.sleep(1)
        return "fine"
        """, "fine"),
}  # fmt: skip


@pytest.mark.parametrize("what", FINE)
def test_a_script_that_loses_nothing_gets_its_result(bench: Any, what: str) -> None:
    source, result = FINE[what]
    outcome = bench.run(textwrap.dedent(source))
    assert (outcome.status, outcome.result, outcome.stdout) == ("ok", result, ""), outcome.error


def test_what_is_running_when_the_loop_ends_cleans_up(bench: Any) -> None:
    code = """
import asyncio
async def work():
    try:
        await asyncio.sleep(5)
    finally:
        print("cleaned")
async def main():
    asyncio.create_task(work())
    await asyncio.sleep(0)
    print("main")
asyncio.run(main())
"""
    assert bench.run(code).stdout == "main\ncleaned\n"


def test_a_failure_that_nobody_asked_for_is_told(bench: Any) -> None:
    code = """
import asyncio
async def bad(): raise ValueError("lost")
task = asyncio.create_task(bad())
await asyncio.sleep(0)
return "fine"
"""
    outcome = bench.run(code)
    assert (outcome.status, outcome.result) == ("ok", "fine")
    assert outcome.stdout.startswith("Task exception was never retrieved\nTraceback")
    assert outcome.stdout.endswith("ValueError: lost\n")
