# fence: rejected | walls: -
import asyncio
async def main():
    task = asyncio.current_task()
    print("BREACHED" if task.get_coro().cr_frame else "")
asyncio.run(main())
