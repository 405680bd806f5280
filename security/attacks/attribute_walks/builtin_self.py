# fence: rejected | walls: error
os = print.__self__.__import__("os")
print("BREACHED" if os.listdir("/") else "empty")
