# fence: rejected | walls: error
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=len, args=("",))
process.start()
process.join()
print("BREACHED" if process.exitcode == 0 else "refused")
