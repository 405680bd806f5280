# fence: rejected | walls: -
import sys
sys.set_coroutine_origin_tracking_depth(2)
async def walk():
    pass
coroutine = walk()
print("BREACHED" if coroutine.cr_origin else "")
coroutine.close()
