# fence: rejected | walls: error
os = eval("__import__('os')")
print("BREACHED" if os.listdir("/") else "empty")
