# fence: rejected | walls: -
async def walk():
    pass
coroutine = walk()
wrapper = coroutine.__await__()
print("BREACHED" if wrapper.__reduce__ and type(wrapper).__base__ else "")
coroutine.close()
