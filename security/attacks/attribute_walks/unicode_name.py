# fence: rejected | walls: error
os = print.__ſelf__.__import__("os")
print("BREACHED" if os.listdir("/") else "empty")
