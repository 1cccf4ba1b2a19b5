import requests

from slips import slip


def lend(book):
    answer = requests.post("http://loans:8000/loans", json={"book": book})
    if answer.status_code != 201:
        raise RuntimeError(answer.json()["error"])
    return slip(answer.json()["id"])
