# fence: rejected | walls: error
os = __ｉmport__("os")
print("BREACHED" if os.listdir("/") else "")
