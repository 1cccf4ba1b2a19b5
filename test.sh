#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests: every suite under AddressSanitizer and UBSan, the concurrent ones under ThreadSanitizer, one run under
# valgrind, the fuzzers' corpora, the style rules, the demo. --long adds the runs that take longer.
# The last line counts all of them: N passed, N failed.
set -u
cd "$(dirname "$0")"
. tools/setup.sh
long=no
[ "${1:-}" = --long ] && long=yes

# Clients that others wrote, into build-clients: Node's packages where there is npm, grpcurl where there is Go. Without
# them, or without a registry, their tests are skipped and their columns of docs/wires.md stay as they are.
install_clients() {
  mkdir -p build-clients
  if command -v npm >/dev/null && [ ! -d build-clients/node_modules/zeromq ]; then
    cp tests/clients/package.json build-clients/
    npm install --prefix build-clients --ignore-scripts --no-audit --no-fund >build-clients.log 2>&1 ||
      echo "Node's clients could not be installed; see build-clients.log" >&2
  fi
  if command -v go >/dev/null && [ ! -x build-clients/grpcurl ]; then
    GOBIN="$PWD/build-clients" GOFLAGS=-mod=mod go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.8.9 \
      >>build-clients.log 2>&1 || echo "grpcurl could not be built; see build-clients.log" >&2
  fi
}

set -e
install_missing "${build_packages[@]}" libcmocka-dev libczmq-dev valgrind clang clang-format clang-tidy libclang-rt-14-dev
command -v node >/dev/null || install_missing nodejs
install_clients
build build-asan -Dtests=enabled -Db_sanitize=address,undefined -Dwerror=true
build build-tsan -Dtests=enabled -Db_sanitize=thread -Dwerror=true
build build -Dtests=enabled --buildtype=release
CC=clang build build-fuzz -Dtests=enabled -Db_sanitize=address,undefined -Db_lundef=false -Dfuzzers=true
set +e

run() { # run NAME BUILD [meson test options...]
  local name=$1 dir=$2
  shift 2
  echo "== $name"
  meson test -C "$dir" --no-rebuild --print-errorlogs --logbase "$name" "$@"
}
run asan build-asan --no-suite valgrind --no-suite long
run tsan build-tsan --suite concurrent
run release build wire_load_2000 wire_llm_client
run valgrind build --suite valgrind
run demo build --suite demo
run fuzz build-fuzz --suite fuzz
run tidy build-fuzz --suite tidy
results=(build-asan/meson-logs/asan build-tsan/meson-logs/tsan build/meson-logs/release build/meson-logs/valgrind
  build/meson-logs/demo build-fuzz/meson-logs/fuzz build-fuzz/meson-logs/tidy)
if [ "$long" = yes ]; then
  run long build --suite long
  run long-asan build-asan --suite long
  run long-fuzz build-fuzz --suite long
  results+=(build/meson-logs/long build-asan/meson-logs/long-asan build-fuzz/meson-logs/long-fuzz)
fi
exec /usr/bin/python3 tools/count.py "${results[@]/%/.junit.xml}"
