# fence: rejected | walls: -
import asyncio
seen = []
class Odd:
    def __await__(self):
        got = yield None
        seen.append(got)
        return self
    def add_done_callback(self, callback, context=None):
        seen.append(callback)
async def main():
    found = await Odd()
    print("BREACHED" if getattr(found.__await__(), "gi_frame") else "")
asyncio.run(main())
