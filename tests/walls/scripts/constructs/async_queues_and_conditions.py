import asyncio


async def main():
    stack, heap = asyncio.LifoQueue(), asyncio.PriorityQueue()
    for n in (3, 1, 2):
        stack.put_nowait(n)
        await heap.put((n, f"item{n}"))
    print([stack.get_nowait() for _ in range(3)], [(await heap.get())[1] for _ in range(3)], stack.empty(), heap.qsize())
    condition, items = asyncio.Condition(), []

    async def consumer(name):
        async with condition:
            await condition.wait_for(lambda: items)
            return name, items.pop()

    async def producer():
        for n in range(2):
            await asyncio.sleep(0)
            async with condition:
                items.append(n)
                condition.notify()

    got = await asyncio.gather(consumer("a"), consumer("b"), producer())
    print(sorted(value for _, value in got[:2]), condition.locked())
    try:
        condition.notify()
    except RuntimeError as error:
        print(error)
    semaphore = asyncio.BoundedSemaphore(1)
    async with semaphore:
        print(semaphore.locked())
    try:
        semaphore.release()
    except ValueError as error:
        print(error)
    future = asyncio.Future()
    for attempt in (future.result, future.exception):
        try:
            attempt()
        except asyncio.InvalidStateError as error:
            print(error)
    future.set_exception(ValueError("set"))
    print(repr(future.exception()))
    try:
        await future
    except ValueError as error:
        print("raised", error)
    try:
        async with asyncio.TaskGroup() as group:
            a = group.create_task(asyncio.sleep(0, "a"))
            b = group.create_task(asyncio.sleep(0, "b"))
        print(a.result(), b.result())
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(1))
            raise KeyError("body")
    except* KeyError as group:
        print(group.exceptions)


asyncio.run(main())
