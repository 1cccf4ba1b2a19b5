#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh CLANG-TIDY BUILD SOURCE: all sources by the rules of .clang-tidy; says only what is found.
cd "$3" && find src -name '*.c' | sort | xargs -P 2 -n 8 "$1" -p "$2" --quiet 2>/dev/null
