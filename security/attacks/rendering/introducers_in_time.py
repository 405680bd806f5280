# surface: held
# 400,000 introducers of a string take seconds, because each starts a new scan.
import re
import time

from winnow.server.text.printable import one_line, printable

_OLD = re.compile(r"[\x90\x98\x9d-\x9f][^\x07\x1b\x9c]{0,500}(?:\x07|\x1b\\\\|\x9c)")
HOSTILE = "\x9d" * 400_000


def _seconds(work):
    began = time.process_time()
    work()
    return time.process_time() - began


def control():
    return _seconds(lambda: _OLD.sub("", HOSTILE)) > 20 * _seconds(lambda: re.sub("[\x07]", "", HOSTILE))


def surface():
    usual = max(_seconds(lambda: printable("\x07" * 400_000)) for _ in range(3))
    return any(
        min(_seconds(lambda text=text: clean(text)) for _ in range(3)) > 40 * max(usual, 0.001)
        for clean in (printable, one_line)
        for text in (HOSTILE, "\x1b]" * 200_000, "\x9d\x90" * 200_000, "\x9b0" * 200_000, "\x1b[" + "0" * 400_000)
    )
