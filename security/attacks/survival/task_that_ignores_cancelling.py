# fence: timeout | walls: crashed/timeout | limits: wall_seconds=0.1
import time
end = time.monotonic() + 0.3
import asyncio
async def stubborn():
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass
async def main():
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0.02)
    task.cancel()
    await task
asyncio.run(main())
print("BREACHED")
