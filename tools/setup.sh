# SPDX-License-Identifier: Apache-2.0
# Sourced by demo.sh and test.sh: installs what is missing (Debian 12 packages), configures and builds.
# A second run finds everything there and needs no network.

build_packages=(gcc libc6-dev meson ninja-build pkg-config libmicrohttpd-dev libcurl4-openssl-dev libjson-c-dev
  libfyaml-dev libxxhash-dev uthash-dev libssl-dev libgrpc-dev libprotobuf-c-dev libprotobuf-dev protobuf-compiler
  protobuf-c-compiler libzmq3-dev python3 python3-yaml python3-grpcio python3-protobuf python3-zmq curl ca-certificates)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# install_missing PACKAGE...: one apt-get for all that dpkg does not know as installed.
install_missing() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "Installing ${missing[*]}" >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build DIR [meson options...]: configures at first, and again when the options are others; then builds.
build() {
  local dir=$1 how=()
  shift
  if [ -f "$dir/build.ninja" ]; then
    [ "$(cat "$dir/options" 2>/dev/null)" = "$*" ] || how=(--reconfigure)
  else
    how=(--)
  fi
  if [ ${#how[@]} -gt 0 ]; then
    [ "${how[0]}" = -- ] && how=()
    meson setup "${how[@]}" "$dir" "$@" >"$dir.setup.log" 2>&1 || { cat "$dir.setup.log" >&2; return 1; }
    echo "$*" >"$dir/options"
  fi
  ninja -C "$dir" >"$dir.build.log" 2>&1 || { tail -n 60 "$dir.build.log" >&2; return 1; }
}
