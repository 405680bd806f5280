# surface: held
# A file in the working folder has notebooks of claims read from, and written to, a server of its choice.
from pathlib import Path

from winnow.security.loopback_listener import is_contacted, request
from winnow.security.surface import winnow

SETTINGS = 'notebook_url = "http://127.0.0.1:{}"\nnotebook_token = "chosen by the file"\n'


def control():
    return is_contacted(request)


def surface():
    def run(port):
        Path("winnow.toml").write_text(SETTINGS.format(port))
        for arguments in (("list",), ("show", "0123456789ab")):
            winnow("claims", *arguments, environment={"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off"})

    return is_contacted(run)
