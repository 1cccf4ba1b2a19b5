from loans.ids import fresh


class Unknown(Exception):
    pass


class Store:
    def __init__(self):
        self.loans = {}

    def loan(self, loan_id):
        if loan_id not in self.loans:
            raise Unknown(f"no loan {loan_id}")
        return self.loans[loan_id]

    def lend(self, book):
        loan = {"id": fresh(), "book": book, "état": "out"}
        self.loans[loan["id"]] = loan
        return loan
