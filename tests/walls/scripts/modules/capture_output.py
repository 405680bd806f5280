import contextlib
import io


def chatty():
    print("inside")
    return 5


buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    value = chatty()
    with contextlib.redirect_stdout(io.StringIO()) as inner:
        print("deeper")
    print("still", inner.getvalue().strip())
print(value, repr(buffer.getvalue()))
