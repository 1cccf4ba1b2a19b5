import secrets


def fresh():
    return "ln_" + secrets.token_hex(6)
