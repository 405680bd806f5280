# fence: rejected | walls: -
import logging.config
made = logging.config.DictConfigurator({"x": "ext://builtins.eval"}).config["x"]
made("print('BREACHED')")
