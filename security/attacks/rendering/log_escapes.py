# surface: held
# A message in the log acts on the terminal, or adds a line to it.
import io
import logging

from winnow.server.runtime.logs import log, set_up_logs

NAME = "a\n{\"level\":\"info\"}\x1b[2K\x9b31m\u202e\u2028b\U000e0041"


def _said(write):
    stream = io.StringIO()
    write(stream)
    return stream.getvalue()


def control():
    return "\x9b" in _said(lambda stream: stream.write(f"a skill is left out: {NAME}\n"))


def surface():
    def write(stream):
        set_up_logs(handler=logging.StreamHandler(stream))
        log("a skill is left out", what=NAME)
        logging.getLogger("another.package").warning("%s", NAME)

    said = _said(write)
    return len(said.splitlines()) != 2 or any(one in said for one in "\x1b\x9b\u202e\u2028\U000e0041")
