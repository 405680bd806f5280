# fence: rejected | walls: error
print("BREACHED" if "processor" in open("/proc/cpuinfo").read() else "")
