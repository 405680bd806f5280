import logging
import time
import traceback
import warnings

start, tick = time.perf_counter(), time.monotonic()
time.sleep(0.001)
print(time.perf_counter() > start, time.monotonic() > tick, time.time() > 1.7e9, time.strftime("%Y-%m-%d", time.gmtime(0)), time.gmtime(86400)[:4], time.strptime("2026-02-03", "%Y-%m-%d").tm_yday, time.time_ns() > 0, time.gmtime(0).tm_year, time.mktime(time.gmtime(0)) == 0 or "tz")


def inner():
    raise ValueError("deep")


def outer():
    inner()


try:
    outer()
except ValueError:
    text = traceback.format_exc()
    print(text.splitlines()[0], text.splitlines()[-1], text.count("File"), "in inner" in text)
print(traceback.format_exception_only(KeyError("k")), traceback.format_exception_only(ValueError, ValueError("v")))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    warnings.warn("quiet", DeprecationWarning)
logging.getLogger(__name__).debug("not shown")
log = logging.getLogger("app")
log.setLevel(logging.INFO)
print(log.name, log.level, log.isEnabledFor(logging.DEBUG), logging.WARNING, logging.getLogger("app") is log)
