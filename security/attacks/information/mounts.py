# fence: rejected | walls: error
print("BREACHED" if open("/proc/self/mountinfo").read() else "")
