package store

const limit = 404
