#!/usr/bin/env bash
# Brings what a cluster of real nodes needs (make cluster, make e2e) besides Go: the programs of a node, and for make e2e the
# Prometheus that reads its metrics and the browser that shows the emulator's page, from the distribution.
# Only root on a machine with apt-get gets it installed; anyone else is told.
set -euo pipefail

packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }

export PATH="$PATH:/usr/sbin:/sbin"
need containerd containerd
need containerd-shim-runc-v2 containerd
need ctr containerd
need runc runc
need ip iproute2
need nft nftables
need conntrack conntrack
need nsenter util-linux
need mount mount
need umount mount
need losetup mount
need mkfs.ext4 e2fsprogs
need mkfs.xfs xfsprogs
need prometheus prometheus
need chromium chromium

plugins=containernetworking-plugins
for folder in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
	if [[ -x $folder/bridge && -x $folder/host-local ]]; then plugins=; fi
done
[[ -z $plugins ]] || packages+=("$plugins")

if ((${#packages[@]} > 0)); then
	mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
	if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
		echo "e2e: please install: ${packages[*]}" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq update
	# Nodes bring their own containerd, tests their own Prometheus: the distribution's need not run.
	RUNLEVEL=1 apt-get -qq install --yes --no-install-recommends "${packages[@]}"
fi
