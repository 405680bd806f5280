# fence: rejected | walls: error
if False:
    pass
elif __debug__:
    import os
    print("BREACHED" if os.listdir("/") else "empty")
