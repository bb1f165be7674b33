#!/usr/bin/env bash
# Runs everything a change must pass, the way the README tells people to, and says how long each part took.
# Without root: build, verify, test, demo, bench, fuzz. With root the same, before it test and demo as an ordinary user in a
# clone of its own, because that is how most people run them, and races are looked for there; after it the proofs in a real
# cluster. What is tested as an ordinary user is what is committed.
#
# CI_BUDGET is the time limit in seconds for everything together, CI_CACHE the folder for root's caches.
set -euo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
budget=${CI_BUDGET:-4800}
cache=${CI_CACHE:-/var/cache/thalassa-ci}
account=thalassa-ci
export CI=true GOTOOLCHAIN=local PATH="$PATH:/usr/local/go/bin:/usr/sbin:/sbin"

child=      # the stage that is running: a process that leads a group of its own
home=       # the ordinary user's folder
as_user=()  # what runs a command as the ordinary user, in its clone
table=()    # lines of the closing table
failures=0  # stages that failed
summaries=$(mktemp -d)

# stage NAME COMMAND... runs one part within what is left of the budget. A failing part does not stop the others.
stage() {
	local name=$1 start=$SECONDS status=0 result=ok
	shift
	printf '\n=== %s\n' "$name"
	set -m # a process group per stage, and interrupts that are not ignored
	timeout --kill-after=60 "$((budget > SECONDS ? budget - SECONDS : 1))" "$@" 9>&- &
	child=$!
	set +m
	wait "$child" || status=$?
	child=
	case $status in
	0) ;;
	124 | 137) result='FAILED (no time left)' ;;
	*) result=FAILED ;;
	esac
	[[ $result == ok ]] || failures=$((failures + 1))
	table+=("$(printf '%-26s %5ds  %s' "$name" "$((SECONDS - start))" "$result")")
}

# interrupted ends the running stage with everything it started.
interrupted() {
	echo 'ci: interrupted' >&2
	if [[ -n $child ]]; then
		kill -TERM -- "-$child" 2>/dev/null || true
		wait "$child" || true
	fi
	exit 130
}

# cleanup leaves nothing but the caches, which stay the ordinary user's for the next run.
cleanup() {
	rm -rf "$summaries"
	if [[ -n $home ]]; then
		rm -rf "$home"/clone.*
		chown -R "$account:" "$cache"/*/
	fi
}

# prepare_user makes the account, its caches and its clone. Root shares the caches: nothing is compiled twice.
prepare_user() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock --nonblock 9 || { echo "ci: another run uses $cache" >&2; exit 1; }
	getent passwd "$account" >/dev/null ||
		useradd --system --user-group --create-home --shell /usr/sbin/nologin "$account"
	home=$(getent passwd "$account" | cut -d: -f6)
	prepare_caches
	prepare_clone
}

# prepare_caches begins with what root has downloaded already, and exports the go settings of the caller, some of which live
# in files that the ordinary user cannot read. What root has compiled is not taken over: it is gigabytes of other builds too.
prepare_caches() {
	local name modules
	for name in GOFLAGS GOPROXY GONOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOINSECURE GOVCS; do
		export "$name=$(go env "$name")"
	done
	modules=$(go env GOMODCACHE)
	if [[ ! -d $cache/mod ]]; then
		mkdir -p "$cache/mod/cache/download" "$cache/build"
		cp -a "$modules/cache/download/." "$cache/mod/cache/download/" 2>/dev/null || true
	fi
	export GOMODCACHE=$cache/mod GOCACHE=$cache/build GOLANGCI_LINT_CACHE=$cache/lint
	chown -R "$account:" "$cache"/*/
}

# prepare_clone clones what is committed. The checkout may belong to somebody else than root, which git has to be told.
prepare_clone() {
	local clone
	[[ -z $(git -c "safe.directory=$root" status --porcelain) ]] ||
		echo 'ci: not everything is committed; the ordinary user tests what is'
	rm -rf "$home"/clone.*
	clone=$(mktemp -d "$home/clone.XXXXXX")
	git clone --quiet --no-local --upload-pack "git -c safe.directory='*' upload-pack" "file://$root" "$clone"
	chown -R "$account:" "$clone"
	as_user=(
		setpriv "--reuid=$(id -u "$account")" "--regid=$(id -g "$account")" --init-groups --no-new-privs
		env -C "$clone" -u TMPDIR -u GOTMPDIR -u GOBIN -u KUBECONFIG
		-u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_RUNTIME_DIR
		"HOME=$home" "USER=$account" "LOGNAME=$account" GOENV=off "GOPATH=$home/go"
	)
	install -d -o "$account" "$summaries/user"
	chmod 711 "$summaries"
}

# count adds up the closing lines of all test runs. A stage that failed without a failing test counts as one failure.
count() {
	find "$summaries" -type f -exec cat {} + | awk -v stages="$failures" '
		{ passed += $1; failed += $3 }
		END { print passed + 0 " passed, " (failed > stages ? failed : stages) + 0 " failed" }'
}

trap cleanup EXIT
trap interrupted INT TERM HUP
bash ci/setup.sh
race=auto
if [[ $(id -u) == 0 ]]; then
	bash ci/e2e-setup.sh
	race=0 # the ordinary user has looked for races in the same tests; a second look would double what takes longest
	prepare_user
	stage "test as $account" "${as_user[@]}" make test TESTFLAGS=-count=1 "SUMMARY=$summaries/user/test"
	stage "demo as $account" "${as_user[@]}" make demo
fi
stage build make build
stage verify make verify
stage test make test "RACE=$race" TESTFLAGS=-count=1 "SUMMARY=$summaries/test"
stage demo make demo
stage bench make bench BENCHTIME=1x
stage fuzz make fuzz FUZZTIME=300x GUIDED=0
if [[ $(id -u) == 0 ]]; then
	stage e2e make e2e "SUMMARY=$summaries/e2e"
fi

printf '\n=== %s\n' 'all stages'
printf '%s\n' "${table[@]}"
printf '%-26s %5ds\n' total "$SECONDS"
count
exit "$((failures > 0))"
