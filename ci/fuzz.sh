#!/bin/sh
# Lets every fuzz target try new inputs, one target after the other:
#
#   sh ci/fuzz.sh TIME [plain]
#
# TIME is that of go test -fuzztime: 10s, or 500x. go test -fuzz compiles all packages again, so that inputs are chosen by
# the code that they reach. With plain, nothing is compiled again, and inputs are chosen at random.
set -u
time=$1
plain=${2-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

fuzz() { # package target
	if [ -z "$plain" ]; then
		go test -trimpath -buildvcs=false -vet=off -run='^$' -fuzz="^$2\$" -fuzztime="$time" "$1"
	else
		go test -c -trimpath -buildvcs=false -vet=off -o "$scratch/fuzz.test" "$1" && cd "$1" &&
			"$scratch/fuzz.test" -test.run='^$' -test.fuzz="^$2\$" -test.fuzztime="$time" -test.fuzzcachedir="$scratch/inputs"
	fi
}

# Go reports a target that is slow to stop at the end of its time as failed.
late() { # output
	grep -q '^    context deadline exceeded$' "$1" && ! grep -q 'Failing input' "$1"
}

find src tools ci -name '*_test.go' ! -path '*/testdata/*' -exec grep -H '^func Fuzz' {} + |
	sed 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9_]*\)(.*|./\1 \2|' | sort >"$scratch/targets"
if ! [ -s "$scratch/targets" ]; then
	echo "fuzz: there are no fuzz targets" >&2
	exit 1
fi
failed=
while read -r package target; do
	began=$(date +%s)
	if (fuzz "$package" "$target") >"$scratch/output" 2>&1 </dev/null || late "$scratch/output"; then
		echo "ok    $package $target  $(($(date +%s) - began))s"
	else
		echo "FAIL  $package $target"
		cat "$scratch/output"
		failed="$failed $package $target"
	fi
done <"$scratch/targets"
if [ -n "$failed" ]; then
	echo "fuzz: these targets failed:$failed" >&2
	exit 1
fi
