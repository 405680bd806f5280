# fence: error | walls: crashed/error
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, print, "BREACHED")
asyncio.run(main())
