# fence: rejected | walls: -
class Pause:
    def __await__(self):
        yield
async def walk():
    await Pause()
    yield 1
generator = walk()
step = generator.__anext__()
step.send(None)
print("BREACHED" if generator.ag_await is not None and generator.ag_frame.f_code else "")
