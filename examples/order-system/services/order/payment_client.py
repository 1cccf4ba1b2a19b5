"""Calls to payment with an access token, which is kept and renewed when it expires."""

from common.http_client import UpstreamError

CREDENTIALS = {"client_id": "order-svc", "client_secret": "order-secret-1"}


class PaymentClient:
    def __init__(self, send, client):
        self.send, self.client = send, client
        self.tokens = None

    def post(self, path, body=None, idempotency_key=None):
        """One call; once more, with the same key, if the token had expired."""
        if self.tokens is None:
            self.tokens = self.exchange()
        status, reply = self.attempt(path, body, idempotency_key)
        if status == 401 and reply.get("type") == "auth/expired":
            self.tokens = self.refresh()
            status, reply = self.attempt(path, body, idempotency_key)
        if status == 401:
            self.tokens = None
        return status, reply

    def attempt(self, path, body, idempotency_key):
        headers = {"Authorization": f"Bearer {self.tokens['access_token']}"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        return self.send(self.client, "POST", path, body, headers=headers)

    def exchange(self):
        status, reply = self.send(self.client, "POST", "/v1/tokens", CREDENTIALS)
        if status != 201 or "access_token" not in reply:
            raise UpstreamError(f"no access token: status {status}")
        return reply

    def refresh(self):
        token = {"refresh_token": self.tokens.get("refresh_token")}
        status, reply = self.send(self.client, "POST", "/v1/tokens/refresh", token)
        return reply if status == 200 and "access_token" in reply else self.exchange()
