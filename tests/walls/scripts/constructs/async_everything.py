import asyncio
import contextlib


class Clock:
    def __init__(self):
        self.ticks = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.ticks == 3:
            raise StopAsyncIteration
        self.ticks += 1
        await asyncio.sleep(0)
        return self.ticks


@contextlib.asynccontextmanager
async def session(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)


async def numbers(n):
    try:
        for i in range(n):
            yield i
    finally:
        print("numbers end")


async def work(n, gate):
    async with gate:
        await asyncio.sleep(0.001 * (5 - n))
        if n == 3:
            raise ValueError(f"bad {n}")
        return n * n


async def main():
    gate = asyncio.Semaphore(2)
    print(await asyncio.gather(*(work(n, gate) for n in range(5)), return_exceptions=True))
    print([tick async for tick in Clock()], {n: n async for n in numbers(2)}, {n async for n in numbers(2) if n})
    async with session("a") as a, session("b") as b:
        print(a, b)
    try:
        await asyncio.gather(work(1, gate), work(3, gate))
    except ValueError as error:
        print("gathered", error)
    tasks = [asyncio.create_task(work(n, gate), name=f"t{n}") for n in (1, 2)]
    done, pending = await asyncio.wait(tasks)
    print(sorted(t.result() for t in done), pending, sorted(t.get_name() for t in done), all(t.done() for t in tasks))
    try:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(1)
    except TimeoutError:
        print("timed out")
    try:
        await asyncio.wait_for(asyncio.sleep(1), timeout=0.001)
    except asyncio.TimeoutError as error:
        print("timed out", repr(error))
    lock, event = asyncio.Lock(), asyncio.Event()
    order = []

    async def waiter():
        await event.wait()
        async with lock:
            order.append("waiter")

    async def setter():
        async with lock:
            order.append("setter")
            event.set()

    await asyncio.gather(waiter(), setter())
    print(order, lock.locked(), event.is_set())
    agen = numbers(5)
    async for n in agen:
        if n == 1:
            break
    await agen.aclose()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(work(3, gate))
            group.create_task(asyncio.sleep(1))
    except* ValueError as errors:
        print("group", [str(e) for e in errors.exceptions])
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(session("x"))
        stack.push_async_callback(asyncio.sleep, 0)
    results = []
    for coroutine in asyncio.as_completed([work(1, gate), work(2, gate)]):
        results.append(await coroutine)
    print(sorted(results), await asyncio.shield(work(2, gate)), await asyncio.to_thread(max, 1, 2))
    return "main"


print(asyncio.run(main()))


async def plain():
    return 7


print(asyncio.run(plain()), asyncio.iscoroutinefunction(plain))
coroutine = plain()
try:
    coroutine.send(None)
except StopIteration as stop:
    print(stop.value)
