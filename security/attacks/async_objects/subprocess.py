# fence: error | walls: crashed/error/rejected
import asyncio
async def main():
    process = await asyncio.create_subprocess_shell("true")
    print("BREACHED" if process.pid else "")
asyncio.run(main())
