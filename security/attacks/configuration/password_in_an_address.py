# surface: held
# The password of an address is shown with the settings, or in the error for an unreachable server.
from winnow.security.surface import winnow

SECRET = b"pA55word"
ENVIRONMENT = {
    "WINNOW_DAEMON": "off",
    "WINNOW_EMBEDDING": "off",
    "WINNOW_QDRANT_URL": "http://me:pA55word@127.0.0.1:9/?api_key=pA55word",
}


def control():
    try:
        raise OSError(f"{ENVIRONMENT['WINNOW_QDRANT_URL']} does not answer")
    except OSError as error:
        return SECRET in str(error).encode()


def surface():
    said = [winnow(*command, environment=ENVIRONMENT) for command in (("config", "--json"), ("search", "backups"))]
    return any(SECRET in one.stdout + one.stderr for one in said)
