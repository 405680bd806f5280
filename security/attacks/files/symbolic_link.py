# fence: rejected | walls: error
import os
os.symlink("/etc/passwd", "link")
print("BREACHED" if open("link").read() else "empty")
