# fence: rejected/error | walls: crashed
import asyncio
async def serve():
    await asyncio.start_server(print, "127.0.0.1", 0)
    print("BREACHED")
asyncio.run(serve())
