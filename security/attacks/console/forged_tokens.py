# surface: held
# A program of another user forges the token of a console, or its cookie: empty, guessed, cut, doubled, in other forms.
from winnow.security.console_server import serve_console
from winnow.security.loopback_servers import breaches_unprotected, is_served, make_store


def control():
    return breaches_unprotected(lambda port: is_served(port, "host: localhost", "cookie: winnow_console=guessed"))


def surface():
    make_store()
    with serve_console() as console:
        token, name = console.token, f"winnow_console_{console.port}"
        tokens = ("", "a", "None", "0" * 43, token[:-1], token + "a", token.swapcase(), f"{token}&token={token}", "%00", "%ff")
        if any(console.ask(f"/enter?token={each}", console.host)[0] == 200 for each in tokens):
            return True
        real = console.enter()  # from here on the secret path is known, too
        values = ("", token, token[:-1], "0" * 43, "None", "true", '""', "%", "\xff" * 43)
        cookies = (*(f"{name}={each}" for each in values), f"winnow_console={token}", "winnow-session=a", ";;;=", name)
        if any(console.is_open(console.host, f"cookie: {each}") for each in cookies):
            return True
        return not console.is_open(console.host, real)  # it lets its own user in
