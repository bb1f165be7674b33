#!/usr/bin/env bash
# Runs all stages that a change must pass, and says how long each part took. What a stage runs is in the Makefile (make stage).
# README's two commands come first, before anything is installed for the rest: make demo and make test find no program that only
# ci/e2e-setup.sh installs, whether or not the machine has it. With root, an ordinary user runs them in a clone of its own, because
# most people do. What the ordinary user tests and lints is what is committed. Root then repeats what differs for root: the packages
# with tests that need root. After ci/e2e-setup.sh come the other stages and, with root, make test-root and the proofs in a real cluster.
#
# CI_BUDGET is the time limit in seconds for everything together, CI_CACHE the folder for root's caches. dist/ci keeps the tables.
set -euo pipefail
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
budget=${CI_BUDGET:-5300}
cache=${CI_CACHE:-$([[ $(id -u) == 0 ]] && echo /var/cache/thalassa-ci || echo "$root/dist/ci/cache")}
account=thalassa-ci
rare_limit=600 # seconds for a stage whose inputs change rarely
export CI=true GOTOOLCHAIN=local PATH="$PATH:/usr/local/go/bin:/usr/sbin:/sbin"

child=      # the stage that is running: a process that leads a group of its own
beside=     # the subshell of a stage that runs beside it
home=       # the ordinary user's folder
as_user=()  # what runs a command as the ordinary user, in its clone
table=$(mktemp) # lines of the closing table
summaries=$(mktemp -d)
programs=$cache/programs # those of a machine on which ci/e2e-setup.sh never ran; results of tests depend on the path

# run STAGE SECONDS [COMMAND...] runs a stage of the Makefile by COMMAND for so many seconds at most, and sets result.
run() {
	local name=$1 limit=$2 status=0
	shift 2
	printf '\n=== %s\n' "$name"
	mkdir -p "$summaries/$name"
	set -- "$@" make stage "STAGE=$name" "SUMMARY=$summaries/$name/summary"
	set -m # a process group per stage, and interrupts that are not ignored
	timeout --kill-after=60 "$((limit > 0 ? limit : 1))" "$@" 9>&- &
	child=$!
	set +m
	wait "$child" || status=$?
	child=
	case $status in
	0) result=ok ;;
	124 | 137) result='FAILED (no time left)' ;;
	*) result=FAILED ;;
	esac
}

# stage STAGE [COMMAND...] runs a stage within what is left of the budget. A failing stage does not stop the others.
stage() {
	local name=$1 start=$SECONDS result
	shift
	run "$name" "$((budget - SECONDS))" "$@"
	printf '%6ds  %s  %s\n' "$((SECONDS - start))" "$name" "$result" >>"$table"
}

# rare STAGE COMMAND... runs a stage whose inputs are the files and folders that make stage-inputs names, if they have changed since its
# last success.
rare() {
	local name=$1 known=$cache/stages/$1 start=$SECONDS limit=$((budget - SECONDS)) inputs result
	shift
	if ! inputs=$("$@" make --silent stage-inputs "STAGE=$name"); then
		result=FAILED
	elif [[ $(cat "$known" 2>/dev/null) == "$inputs" ]]; then
		result='not run: its inputs are those of its last success'
	else
		run "$name" "$((limit < rare_limit ? limit : rare_limit))" "$@"
		case $result in
		ok)
			mkdir -p "$cache/stages"
			printf '%s' "$inputs" >"$known"
			;;
		*time*) result='not finished in its time: left to the nightly workflow' ;;
		esac
	fi
	printf '%6ds  %s  %s\n' "$((SECONDS - start))" "$name" "$result" >>"$table"
}

# failures is how many stages have failed.
failures() { grep -c FAILED "$table" || true; }

# stage_beside STAGE BESIDE runs a stage, and one beside it that waits most of the time. What that says is printed when both have ended.
stage_beside() {
	(
		trap interrupted INT TERM HUP
		stage "$2"
	) >"$summaries/beside" 2>&1 &
	beside=$!
	stage "$1"
	wait "$beside" || printf '%6ds  %s  %s\n' 0 "$2" 'FAILED (ended early)' >>"$table"
	beside=
	cat "$summaries/beside"
	rm "$summaries/beside"
}

# interrupted ends the running stage with everything it started.
interrupted() {
	echo 'ci: interrupted' >&2
	if [[ -n $beside ]]; then
		kill -TERM "$beside" 2>/dev/null || true
	fi
	if [[ -n $child ]]; then
		kill -TERM -- "-$child" 2>/dev/null || true
	fi
	wait || true
	exit 130
}

# cleanup leaves nothing but the caches, which stay the ordinary user's for the next run.
cleanup() {
	rm -rf "$summaries" "$table"
	if [[ -n $home ]]; then
		rm -rf "$home/clone"
		chown -R "$account:" "$cache"/*/
	fi
}

# prepare_programs links to every program in PATH but those that only ci/e2e-setup.sh installs. A Debian base has util-linux and mount.
prepare_programs() {
	local folder names
	rm -rf "$programs" && mkdir -p "$programs"
	while IFS= read -r -d : folder; do
		[[ ! -d $folder ]] || ln -s "$(realpath "$folder")"/* "$programs/" 2>/dev/null || true # the first of a name wins
	done <<<"$PATH:"
	names=$(awk '$1 == "need" && $3 !~ /^(util-linux|mount)$/ { print $2 }' ci/e2e-setup.sh)
	[[ -n $names ]] || { echo 'ci: ci/e2e-setup.sh names no program' >&2; exit 1; }
	(cd "$programs" && xargs rm -f <<<"$names")
	chmod 755 "$programs"
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
	mkdir -p "$cache/lint" # the ordinary user cannot make it
	export GOMODCACHE=$cache/mod GOCACHE=$cache/build GOLANGCI_LINT_CACHE=$cache/lint
	chown -R "$account:" "$cache"/*/
}

# prepare_clone clones what is committed, always into the same folder: the cache of the linters contains absolute paths. The checkout
# may belong to somebody else than root, which git has to be told.
prepare_clone() {
	local clone
	[[ -z $(git -c "safe.directory=$root" status --porcelain) ]] ||
		echo 'ci: not everything is committed; the ordinary user tests what is'
	clone=$home/clone
	rm -rf "$clone" && mkdir "$clone"
	git clone --quiet --no-local --upload-pack "git -c safe.directory='*' upload-pack" "file://$root" "$clone"
	chown -R "$account:" "$clone"
	as_user=(
		setpriv "--reuid=$(id -u "$account")" "--regid=$(id -g "$account")" --init-groups --no-new-privs
		env -C "$clone" -u TMPDIR -u GOTMPDIR -u GOBIN -u KUBECONFIG
		-u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_RUNTIME_DIR
		"HOME=$home" "USER=$account" "LOGNAME=$account" GOENV=off "GOPATH=$home/go"
	)
	install -d -o "$account" "$summaries/test" "$summaries/test-full" "$summaries/release"
	chmod 711 "$summaries"
}

# count adds up the closing lines of all test runs. A stage that failed without a failing test counts as one failure. Tests that
# need root count as skipped unless this is root, which runs make test-root.
count() {
	find "$summaries" -type f -exec cat {} + | awk -v stages="$(failures)" -v user="$(id -u)" '
		$2 != "passed," { next }
		{ passed += $1; failed += $3 }
		{ for (i = 5; i < NF; i++) if ($(i + 1) ~ /^skipped/ || $(i + 1) == "need" && $(i + 2) == "root" && user != 0) skipped += $i }
		END { print passed + 0 " passed, " (failed > stages ? failed : stages) + 0 " failed" (skipped ? ", " skipped " skipped" : "") }'
}

# tables keeps and prints how long stages and packages took, slowest first. Of packages it prints the first ones.
tables() {
	local folder=$root/dist/ci
	mkdir -p "$folder"
	sort -rn "$table" >"$folder/stages.txt"
	printf '%6ds  total\n' "$SECONDS" >>"$folder/stages.txt"
	find "$summaries" -type f -exec sed 1d {} \; | sort -rn >"$folder/packages.txt"
	printf '\n=== %s\n' 'slowest packages'
	head -n 20 "$folder/packages.txt"
	printf '\n=== %s\n' 'all stages'
	cat "$folder/stages.txt"
}

trap cleanup EXIT
trap interrupted INT TERM HUP
bash ci/setup.sh
if [[ $(id -u) == 0 ]]; then
	prepare_user
fi
prepare_programs
fresh=("${as_user[@]}" env "PATH=$programs")
for name in demo test test-full verify; do
	stage "$name" "${fresh[@]}"
done
rare release "${fresh[@]}"
if [[ $(id -u) == 0 ]]; then
	# All other tests do the same for root as for the user above. make test-root counts these again, with what they need.
	stage test-as-root env "PATH=$programs"
	bash ci/e2e-setup.sh
	stage test-root
fi
for name in build bench lives fuzz; do
	stage "$name"
done
if [[ $(id -u) == 0 ]]; then
	stage_beside e2e soak
else
	stage soak
fi

tables
count
exit "$(($(failures) > 0))"
