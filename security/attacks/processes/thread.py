# fence: rejected | walls: error
import threading
thread = threading.Thread(target=print, args=("BREACHED",))
thread.start()
thread.join()
