# surface: held
# A file in the working folder has the user's key sent to a server of its choice.
from winnow.security.loopback_listener import is_contacted, request, run_with_settings

SETTINGS = 'embedder = "openai:http://127.0.0.1:{}/v1#model"\n'
ENVIRONMENT = {"WINNOW_DAEMON": "off", "WINNOW_EMBEDDER_KEY": "a key of the user"}


def control():
    return is_contacted(request)


def surface():
    return is_contacted(lambda port: run_with_settings(SETTINGS.format(port), ENVIRONMENT))
