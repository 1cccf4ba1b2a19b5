package store

import "net/http"

// Show answers one loan.
func Show(w http.ResponseWriter, r *http.Request) { w.WriteHeader(limit) }
