# fence: rejected | walls: error
import os
class Box:
    pass
box = Box()
print("BREACHED" if os.listdir("/") else "empty")
