# fence: rejected | walls: error
import sys, zipfile
with zipfile.ZipFile("planted.zip", "w") as archive:
    archive.writestr("planted.py", "print('BREACHED')")
sys.path.insert(0, "planted.zip")
import planted
