# fence: rejected | walls: -
import asyncio
async def main():
    task = asyncio.current_task()
    print("BREACHED" if task._coro else "")
asyncio.run(main())
