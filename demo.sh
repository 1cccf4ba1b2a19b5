#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job: real services and Mirage's simulation of them are sent the same calls, side by side, from the recorded
# replies of a language model. Ends with exit 0 when no status and no value differs.
#   ./demo.sh           run and end          ./demo.sh --serve   keep all up afterwards
#   ./demo.sh --live    ask the provider that examples/order-system/mirage.yaml names instead of the recordings
set -eu
cd "$(dirname "$0")"
. tools/setup.sh
install_missing "${build_packages[@]}"
build build --buildtype=release
exec /usr/bin/python3 examples/order-system/run.py --mirage "$PWD/build/src/mirage" "$@"
