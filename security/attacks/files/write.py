# fence: rejected | walls: error
import tempfile
with tempfile.TemporaryFile() as file:
    file.write(b"x")
print("BREACHED")
