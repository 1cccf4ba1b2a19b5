#!/bin/sh
echo "not part of it"
