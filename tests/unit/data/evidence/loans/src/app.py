"""The loans service: books and who has them."""
from flask import Flask, jsonify, request

from loans.store import Store, Unknown

app = Flask(__name__)
store = Store()


@app.route("/loans/<loan_id>")
def show(loan_id):
    try:
        return jsonify(store.loan(loan_id))
    except Unknown as error:
        return jsonify({"error": str(error)}), 404


@app.route("/loans", methods=["POST"])
def lend():
    return jsonify(store.lend(request.json["book"])), 201
