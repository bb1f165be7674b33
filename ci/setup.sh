#!/usr/bin/env bash
# Brings what ci/run.sh needs besides Go. Only root on a machine with apt-get gets it installed; anyone else is told.
set -euo pipefail

packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }

need git git
need make make
# The examples of the emulator's README are run.
need curl curl
need jq jq
# The race detector needs a compiler and the C library's headers.
echo '#include <stdlib.h>' | gcc -x c -fsyntax-only - 2>/dev/null || packages+=(gcc libc6-dev)
if [[ $(id -u) == 0 ]]; then
	need useradd passwd
	need setpriv util-linux
	need flock util-linux
fi

if ((${#packages[@]} > 0)); then
	if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
		echo "ci: please install: ${packages[*]}" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq update
	apt-get -qq install --yes --no-install-recommends "${packages[@]}"
fi

if ! command -v go >/dev/null; then
	echo 'ci: Go 1.26 or newer is needed: see https://go.dev/doc/install' >&2
	exit 1
fi
