# fence: rejected | walls: error
os = __loader__.load_module("posix")
print("BREACHED" if os.listdir("/") else "empty")
