def slip(loan_id):
    return f"Loan {loan_id}"
