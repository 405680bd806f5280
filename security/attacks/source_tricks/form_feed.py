# fence: rejected | walls: error
if True:
    import os
    print("BREACHED" if os.listdir("/") else "empty")
