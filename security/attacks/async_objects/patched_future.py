# fence: rejected | walls: -
import asyncio
class Odd:
    pass
asyncio.Event.is_set = lambda self: "BREACHED"
print(asyncio.Event().is_set())
