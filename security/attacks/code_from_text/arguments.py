# fence: rejected | walls: -
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("x", type=eval)
parser.parse_args(["print('BREACHED')"])
