import logging

logging.getLogger("quiet").info("nobody sees this")
logging.getLogger("quiet").warning("bare")
logging.warning("now with a prefix")
logging.info("below the level")
