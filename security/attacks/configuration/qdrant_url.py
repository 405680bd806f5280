# surface: held
# A file in the working folder has the index written to a server of its choice.
from winnow.security.loopback_listener import is_contacted, request, run_with_settings

SETTINGS = 'qdrant_url = "http://127.0.0.1:{}"\n'
ENVIRONMENT = {"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off"}


def control():
    return is_contacted(request)


def surface():
    return is_contacted(lambda port: run_with_settings(SETTINGS.format(port), ENVIRONMENT))
