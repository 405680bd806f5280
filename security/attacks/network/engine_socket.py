# fence: rejected | walls: crashed
import os, socket, tempfile
door = socket.socket(socket.AF_UNIX)
with tempfile.TemporaryDirectory() as store:
    door.bind(os.path.join(store, "engine.sock"))
    door.listen()
    knocking = socket.socket(socket.AF_UNIX)
    knocking.connect(f"/proc/self/fd/{os.open(store, os.O_RDONLY)}/engine.sock")
    knocking.sendall(b'\0\0\0\x17{"id":1,"do":"status"}\n')
    print("BREACHED" if door.accept()[0].recv(4) else "unheard")
