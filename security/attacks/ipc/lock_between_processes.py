# fence: rejected | walls: error
import multiprocessing
multiprocessing.get_context("fork").Lock()
print("BREACHED")
