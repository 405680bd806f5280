# fence: rejected | walls: error
class Catch:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        self.trace = trace
        return True
with Catch() as catch:
    1 / 0
os = catch.trace.tb_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
