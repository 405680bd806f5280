# surface: held
# A result that is too large has one row of many fields and many empty rows, or objects within objects: until a smaller form is found, the server answers nobody.
import asyncio
import json
import time

from winnow.sandbox import Sandbox

MOST_SECONDS = 2.0  # the longest pause is a hundredth of that
SCRIPTS = (
    "return [{f'k{n}': 0 for n in range(2_000)}] + [{}] * 10_000",
    "leaf = [0] * 55_000\nfor _ in range(60): leaf = {'a': leaf}\nreturn leaf",
    "return [[0, [], {}]] * 12_000",
    "return {f'k{n}': {} for n in range(10_000)}",
    "return [{f'k{n}': n} for n in range(9_000)]",
)


def control():
    rows = [{f"k{n}": 0 for n in range(300)}] + [{}] * 1_500
    began = time.process_time()
    small = [name for name in rows[0] if all(len(json.dumps(row.get(name))) <= 80 for row in rows)]
    return len(small) == 300 and time.process_time() - began > 0.2


async def longest_pause():
    """The longest time for which a server that runs these scripts would have answered nobody else."""
    pauses = []

    async def tick():
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.01)
            pauses.append(time.perf_counter() - began)

    async with Sandbox() as sandbox:
        ticking = asyncio.create_task(tick())
        for code in SCRIPTS:
            outcome = await sandbox.run(code)
            if outcome.error is None or outcome.error.type != "ResultTooLarge":
                raise RuntimeError(f"the result was not too large: {outcome.error}")
        await asyncio.sleep(0.02)
        ticking.cancel()
    return max(pauses)


def surface():
    return asyncio.run(longest_pause()) > MOST_SECONDS
