# fence: rejected | walls: error
print("BREACHED" if "[stack]" in open("/proc/self/maps").read() else "")
