# fence: rejected | walls: error
import wave
print("BREACHED")
