# fence: rejected | walls: error
async def walk():
    pass
c = walk()
frame = c.cr_frame
c.close()
os = frame.f_builtins["__import__"]("os") if frame else None
print("BREACHED" if os.listdir("/") else "empty")
