# fence: error | walls: -
import asyncio
class Mine(asyncio.Task):
    def set_result(self, value):
        print("BREACHED")
    def cancelled(self):
        print("BREACHED")
        return super().cancelled()
async def main():
    task = Mine(asyncio.sleep(0))
    await task
    task.cancelled()
asyncio.run(main())
