# fence: rejected | walls: error
import os
print("BREACHED" if os.environ["PATH"] else "empty")
