"""One order in the making, and why a step of it failed."""

from dataclasses import dataclass, field


class StepFailed(Exception):
    """A step was refused: the status to answer with, and why."""

    def __init__(self, status, reply):
        self.status, self.reason = status, reason_of(reply)


def reason_of(reply):
    """The one word for it, from whichever kind of error body a service sent."""
    error, errors = reply.get("error"), reply.get("errors")
    if isinstance(error, dict):
        return error.get("code")
    if errors:
        return f"{errors[0]['field']} {errors[0]['issue']}"
    return error or reply.get("decline_code") or reply.get("type")


@dataclass
class Purchase:
    """One order: what was asked for, how far it came, and how to undo it."""
    order_id: str
    request: dict
    status: str = "placed"
    failed_step: str | None = None
    reason: str | None = None
    compensations: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    undo: dict = field(default_factory=dict)  # action: the call that undoes a step
    item: dict = field(default_factory=dict)
    rate_cents: int = 0
    receipt: dict = field(default_factory=dict)

    @property
    def service(self):
        return self.request.get("service") or "standard"

    def record(self):
        record = {"order_id": self.order_id, "status": self.status,
                  "failed_step": self.failed_step, "reason": self.reason,
                  "compensations": self.compensations, "steps": self.steps}
        return record | self.receipt if self.failed_step is None else record
