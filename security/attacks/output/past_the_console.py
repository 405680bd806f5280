# fence: rejected/error | walls: error
import sys
sys.__stdout__.write("BREACHED")
sys.__stdout__.flush()
