"""What the inventory keeps: the items it starts with, and a list's cursors."""

import base64
import re
from dataclasses import dataclass


@dataclass
class Item:
    id: str
    name: str
    price: int
    on_hand: int
    version: int = 1
    most: int | None = None
    lot: int = 1
    status: str = "active"
    reserved: int = 0

    @property
    def available(self) -> int:
        return self.on_hand - self.reserved

    def summary(self) -> dict:
        return {"id": self.id, "name": self.name, "price_cents": self.price,
                "available": self.available, "version": self.version}

    def detail(self) -> dict:
        limits = {"max_per_reservation": self.most, "lot_size": self.lot}
        return self.summary() | {"on_hand": self.on_hand, "reserved": self.reserved,
                                 "status": self.status, "limits": limits}


def seeds() -> list[Item]:
    return [
        Item("item-001", "Walnut Desk Lamp", 4599, 10),
        Item("item-002", "Cork Notebook", 899, 250),
        Item("item-003", "Brass Bookend", 2750, 1, 3),
        Item("item-004", "Linen Tote", 1999, 0),
        Item("item-005", "Slate Coaster Set", 1550, 40, 7, most=5),
        Item("item-006", "Cedar Pencil Cup", 1225, 12, status="discontinued"),
        Item("item-007", "Wool Throw", 8900, 6, 2, lot=2),
        Item("item-008", "Glass Carafe", 3400, 3),
        Item("item-009", "Tin Planter", 1100, 75),
        Item("item-010", "Copper Funnel", 2050, 18, 4),
        Item("item-011", "Jute Rug", 12900, 2),
        Item("item-012", "Enamel Mug", 750, 500),
    ]


def encode_cursor(item_id: str) -> str:
    return base64.urlsafe_b64encode(f"k:{item_id}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str | None:
    """The item id a cursor points behind, or None for a cursor that is not one of ours."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        return None
    well_formed = re.fullmatch(r"[\w-]+", cursor, re.ASCII) and re.match("k:.", text, re.DOTALL)
    return text[2:] if well_formed else None
