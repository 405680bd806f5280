import asyncio

log = []


async def worker(name, n):
    for i in range(n):
        log.append(f"{name}{i}")
        await asyncio.sleep(0)
    return name


async def main():
    asyncio.create_task(worker("x", 2))
    t = asyncio.create_task(worker("y", 3))
    log.append("main")
    await asyncio.sleep(0)
    log.append("main again")
    print(await t, t.done(), t.result())
    last = asyncio.create_task(worker("z", 3))
    log.append("end")


asyncio.run(main())
print(log)


async def busy():
    try:
        async with asyncio.timeout(0.005):
            while True:
                await asyncio.sleep(0)
    except TimeoutError:
        print("timed out while busy")


asyncio.run(busy())


async def shielded():
    inner = asyncio.create_task(asyncio.sleep(0.2, "inner"))
    try:
        await asyncio.wait_for(asyncio.shield(inner), 0.0001)
    except TimeoutError:
        print("outer gone", inner.cancelled(), await inner)
    first, pending = await asyncio.wait([asyncio.create_task(asyncio.sleep(d, d)) for d in (30, 0.001)], return_when=asyncio.FIRST_COMPLETED)
    print([t.result() for t in first], len(pending))
    for t in pending:
        t.cancel()
    print([type(r).__name__ for r in await asyncio.gather(*pending, return_exceptions=True)])
    order = []
    for c in asyncio.as_completed([asyncio.sleep(d, d) for d in (0.006, 0.001, 0.003)]):
        order.append(await c)
    print(order)


asyncio.run(shielded())
