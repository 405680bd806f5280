# fence: rejected | walls: error
import os
print("BREACHED" if os.uname().nodename else "empty")
