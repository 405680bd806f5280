# fence: rejected | walls: error
x = 1; import os; print("BREACHED" if os.listdir("/") else "empty")
