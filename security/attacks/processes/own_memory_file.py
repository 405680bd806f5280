# fence: rejected | walls: error
with open("/proc/self/mem", "r+b", buffering=0):
    print("BREACHED")
