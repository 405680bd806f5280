# fence: error | walls: -
import asyncio
async def main():
    loop = asyncio.current_task().get_loop()
    print("BREACHED" if loop else "")
asyncio.run(main())
