# fence: rejected | walls: -
import asyncio
async def main():
    frames = asyncio.current_task().get_stack()
    print("BREACHED" if frames[0].f_globals else "")
asyncio.run(main())
