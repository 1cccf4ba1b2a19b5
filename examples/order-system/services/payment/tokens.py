"""Access and refresh tokens: issue, rotation, revocation and the bearer check."""

import re
from dataclasses import dataclass

from payment.problems import Problem, required

REFRESH_WINDOW_S, MAX_REFRESHES, MIN_LIFETIME_S = 1800, 5, 60


def new_id(rng, prefix, digits):
    return f"{prefix}_{rng.getrandbits(4 * digits):0{digits}x}"


@dataclass
class Clock:
    """Logical seconds."""
    now: int = 0


@dataclass
class Client:
    id: str
    secret: str
    scope: str
    lifetime: int


CLIENTS = {client.id: client for client in (
    Client("order-svc", "order-secret-1", "charge refund", 300),
    Client("audit-svc", "audit-secret-1", "read", 120))}


@dataclass
class Family:
    """All tokens that descend from one exchange of client credentials."""
    client: Client
    started: int
    refreshes: int = 0
    revoked: bool = False


@dataclass
class Access:
    family: Family
    issued: int
    lifetime: int
    revoked: bool = False


@dataclass
class Refresh:
    family: Family
    access: Access
    used: bool = False


class TokenStore:
    def __init__(self, rng, clock):
        self.rng, self.clock = rng, clock
        self.access, self.refresh = {}, {}

    def exchange(self, data):
        client_id, secret = required(data, "client_id"), required(data, "client_secret")
        client = CLIENTS.get(client_id)
        if client is None or client.secret != secret:
            raise Problem(401, "auth/invalid_client", "unknown client or wrong secret")
        return self.issue(Family(client, self.clock.now), client.lifetime)

    def issue(self, family, lifetime):
        access_id, refresh_id = new_id(self.rng, "at", 24), new_id(self.rng, "rt", 24)
        access = self.access[access_id] = Access(family, self.clock.now, lifetime)
        self.refresh[refresh_id] = Refresh(family, access)
        return {"access_token": access_id, "refresh_token": refresh_id, "token_type": "Bearer",
                "expires_in": lifetime, "scope": family.client.scope, "issued_at": self.clock.now}

    def renew(self, data):
        token = self.refresh.get(required(data, "refresh_token"))
        if token is None:
            raise Problem(401, "auth/unknown_refresh_token", "refresh token not recognised")
        family = token.family
        if token.used:
            family.revoked = True
            raise Problem(401, "auth/refresh_reused", "refresh token was already used")
        if family.revoked:
            raise Problem(401, "auth/revoked", "token family is revoked")
        if self.clock.now - family.started >= REFRESH_WINDOW_S:
            raise Problem(401, "auth/refresh_expired", "refresh window is over")
        if family.refreshes >= MAX_REFRESHES:
            detail = f"refresh limit of {MAX_REFRESHES} reached"
            raise Problem(401, "auth/refresh_exhausted", detail)
        token.used = token.access.revoked = True
        family.refreshes += 1
        lifetime = max(MIN_LIFETIME_S, family.client.lifetime - 60 * family.refreshes)
        return self.issue(family, lifetime)

    def revoke(self, data):
        id = required(data, "token")
        token = self.access.get(id) or self.refresh.get(id)
        if token:
            token.family.revoked = True
        return {"revoked": token is not None}

    def introspect(self, data):
        token = self.access.get(required(data, "token"))
        left = token.issued + token.lifetime - self.clock.now if token else 0
        if left <= 0 or token.revoked or token.family.revoked:
            return {"active": False, "expires_in": 0, "scope": None}
        return {"active": True, "expires_in": left, "scope": token.family.client.scope}

    def bearer(self, headers, *scopes):
        """The client behind the request's token, which must have one of the scopes."""
        header = headers.get("authorization")
        if header is None:
            raise Problem(401, "auth/missing", "Authorization header is required")
        match = re.fullmatch(r"Bearer (\S+)", header)
        if match is None:
            raise Problem(401, "auth/malformed", "expected a bearer token")
        token = self.access.get(match[1])
        if token is None:
            raise Problem(401, "auth/unknown_token", "access token not recognised")
        if token.revoked or token.family.revoked:
            raise Problem(401, "auth/revoked", "access token is revoked")
        late = self.clock.now - token.issued - token.lifetime
        if late >= 0:
            detail = f"access token expired {late} s ago"
            raise Problem(401, "auth/expired", detail, expired_for_s=late)
        if not set(scopes) & set(token.family.client.scope.split()):
            raise Problem(403, "auth/insufficient_scope", f"scope '{scopes[0]}' is required")
        return token.family.client
