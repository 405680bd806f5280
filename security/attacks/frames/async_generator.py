# fence: rejected | walls: error
async def walk():
    yield 1
os = walk().ag_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
