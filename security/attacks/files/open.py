# fence: rejected | walls: error
print("BREACHED" if open("/etc/passwd").read() else "empty")
