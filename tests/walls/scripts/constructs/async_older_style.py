import asyncio


async def work(n):
    await asyncio.sleep(0.001)
    return n + 1


async def main():
    loop = asyncio.get_running_loop()
    start = loop.time()
    task = loop.create_task(work(1))
    future = loop.create_future()
    future.add_done_callback(lambda f: print("called back", f.result()))
    future.set_result("set")
    print(await task, await future, loop.is_running(), loop.time() >= start, asyncio.isfuture(task), len(asyncio.all_tasks()))
    return "main"


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
try:
    print(loop.run_until_complete(main()))
finally:
    loop.close()
try:
    asyncio.get_running_loop()
except RuntimeError as error:
    print(error)
