package main

import (
	"net/http"

	"example.com/loans/internal/store"
)

func main() {
	http.HandleFunc("/loans/", func(w http.ResponseWriter, r *http.Request) { store.Show(w, r) })
	_ = http.ListenAndServe(":8000", nil)
}
