import asyncio


async def worker(name, queue, results):
    while True:
        item = await queue.get()
        results.append((name, item * 2))
        await asyncio.sleep(0)
        queue.task_done()


async def main():
    queue = asyncio.Queue(maxsize=3)
    results = []
    workers = [asyncio.create_task(worker(f"w{i}", queue, results)) for i in range(2)]
    for item in range(6):
        await queue.put(item)
    await queue.join()
    for w in workers:
        w.cancel()
    ended = await asyncio.gather(*workers, return_exceptions=True)
    print(sorted(value for _, value in results), [type(e).__name__ for e in ended], queue.empty(), queue.qsize())
    try:
        queue.get_nowait()
    except asyncio.QueueEmpty as error:
        print(type(error).__name__)
    for item in range(3):
        queue.put_nowait(item)
    try:
        queue.put_nowait(9)
    except asyncio.QueueFull as error:
        print(type(error).__name__, queue.full())
    future = asyncio.Future()
    asyncio.create_task(fill(future))
    print(await future, future.done())


async def fill(future):
    future.set_result("filled")


asyncio.run(main())
