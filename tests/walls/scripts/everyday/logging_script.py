import logging

logging.basicConfig(level=logging.INFO, format="%(levelname)s - %(name)s - %(message)s")
log = logging.getLogger("app.part")
log.info("started %s with %d items", "job", 3)
log.debug("hidden")
log.warning("careful: %(what)s", {"what": "hot"})
try:
    1 / 0
except ZeroDivisionError as error:
    log.error("failed: %s", error)
log.setLevel("ERROR")
log.info("hidden, too")
logging.info("root %r", "x")
handler = logging.StreamHandler()
handler.setFormatter(logging.Formatter("[{levelname}] {message}", style="{"))
other = logging.getLogger("other")
logging.getLogger().handlers.clear()
other.addHandler(handler)
other.warning("own handler")
logging.getLogger("app").error("still root's handler")
print(log.isEnabledFor(logging.INFO), log.getEffectiveLevel(), logging.getLevelName(40))
