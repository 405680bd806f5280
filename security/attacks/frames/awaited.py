# fence: rejected | walls: -
class Pause:
    def __await__(self):
        yield
async def inner():
    await Pause()
async def outer():
    await inner()
coroutine = outer()
coroutine.send(None)
print("BREACHED" if coroutine.cr_await.cr_frame.f_globals else "")
coroutine.close()
