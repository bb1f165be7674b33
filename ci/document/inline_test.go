package document_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// attempt returns what is executed of a command: with what this world has in place of what the reader replaces, and
// without effects that disturb the other commands.
func attempt(command string) string {
	for placeholder, object := range map[string]string{"NAME": "worker-1", "DIR": "kustomize/overlays/self-managed",
		"FILE": "configuration.yaml"} {
		command = regexp.MustCompile(` `+placeholder+`( |$)`).ReplaceAllString(command, " "+object+"$1")
	}
	for _, one := range [][2]string{
		{`^KUBECONFIG=dist/cluster/kubeconfig `, ""},
		{`^(thalassa-.* --cloud-provider=ironcore) .*$`, "$1 ironcore.yaml"},
		{`^curl http://NODE:PORT/PATH$`, `curl "http://$(` + nodeAddress + `):$(` + nodePort + `)/"`},
		{`\bkubectl (?:annotate|apply|delete|label) [^|]*$`, "$0 --dry-run=server"},
		{`^helm uninstall .*$`, "$0 --dry-run"},
		// This cluster has no orphan, and the command says so.
		{`^kubectl (thalassa orphans delete UID)$`, "{ $0 --yes 2>&1 || true; } | grep 'no orphan has the UID'"},
		// These end with 1 if they find problems, which this cluster has, and then print them.
		{`^kubectl thalassa (doctor|migrate|nodes)\b`, "shown found $1"},
		{`^kubectl thalassa .*$`, "shown $0"},
	} {
		if form := regexp.MustCompile(one[0]); form.MatchString(command) {
			return form.ReplaceAllString(command, one[1])
		}
	}
	return command
}

// plugin starts the plug-in without kubectl, which starts it in the same way in the blocks of documents.
const plugin = `kubectl() {
	if [[ $1 == thalassa ]]; then kubectl-thalassa "${@:2}"; else command kubectl "$@"; fi
}
found() { kubectl-thalassa "$@" || [[ $? == 1 ]]; }
`

// The address of a node, and a port on which it serves.
const (
	nodeAddress = `command kubectl get node worker-1 --output ` +
		`jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}'`
	nodePort = `command kubectl get service web --output jsonpath='{.spec.ports[0].nodePort}'`
)

// wanting makes a cluster with the problems that the commands are about, and with what they name.
const wanting = fill + `fill self-managed/cloud-config.yaml
cd ../..
mkdir --parents credentials
cp token credentials/personalAccessToken
printf '%s\n' 'organisation: my-organisation' 'vpcIdentity: vpc-0123456789' 'cluster: production' \
  "cloudCredentials: {directory: $PWD/credentials}" >configuration.yaml
printf '%s\n' 'networkName: nodes' 'clusterName: blue' >ironcore.yaml
kubectl apply -f snapshots.yaml -f kustomize/components/admission-policy/validatingadmissionpolicy.yaml
kubectl apply -f inline.yaml -f examples/volume.yaml -f examples/services/keep.yaml -f examples/services/public.yaml
kubectl patch volumeattachment attached --subresource=status --type=merge --patch '{"status": {"attached": false,
  "attachError": {"message": "for a test"}, "detachError": {"message": "for a test"}}}'
command helm install thalassa-csi charts/thalassa-csi --namespace thalassa-system \
  --values charts/thalassa-csi/ci/minimal-values.yaml --set controller.replicas=0
# These nodes run one container of a pod.
kubectl patch deployment thalassa-csi-controller --namespace thalassa-system --type=merge --patch '{"spec": {
  "replicas": 1, "template": {"spec": {"containers": [{"name": "thalassa-csi-driver",
  "image": "ghcr.io/thalassa-cloud/thalassa-ccm/csi-driver", "args": ["-c", "echo ready; exec sleep infinity"]}]}}}}'
kustomize build kustomize/overlays/self-managed | kubectl create -f - || true # what the chart has not created
kubectl annotate node worker-1 alpha.kubernetes.io/provided-node-ip="$(kubectl get node worker-1 --output \
  jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}')"
kubectl annotate service web loadbalancer.k8s.thalassa.cloud/max-connection=1
kubectl wait --for=condition=LoadBalancerConfigValid=False service/web --timeout=1m
kubectl rollout status deployment thalassa-csi-controller --namespace thalassa-system --timeout=1m
`

// runInline executes each of the commands once.
func (w *world) runInline(t *testing.T) {
	commands := inline(t, w.root)
	leaveOut := excluded(t, w.root)
	maps.DeleteFunc(commands, func(command string, _ []string) bool { return leaveOut(command) })
	began, err := objects(t.Context(), w.plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer w.reset(t, began)
	w.run(t, "", page{after: wanting})
	w.reportEvents(t, strings.Join(slices.Collect(maps.Keys(commands)), "\n"))
	shell := w.shell(t, w.dir)
	shell.Before += plugin
	t.Chdir(w.dir)
	t.Setenv("KUBECONFIG", w.plane.Kubeconfig())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("EDITOR", "true")
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitTimeout)
	defer cancel()
	simple := regexp.MustCompile(`^kubectl (?:annotate|apply|delete|describe|edit|get|label|logs|rollout) [^|]+$`)
	for _, command := range slices.Sorted(maps.Keys(commands)) {
		execute := shell.Run
		if simple.MatchString(command) {
			execute = kubectlHere
		}
		printed, log, err := execute(ctx, attempt(command))
		if err == nil {
			err = shows(command, printed)
		}
		if err != nil {
			t.Errorf("%q: %v\n%s", slices.Compact(commands[command]), err, log)
		}
	}
}

// kubectlHere runs kubectl in this process, because most of the time of a process of its own is its start. It returns
// the same as Run of a Shell.
func kubectlHere(ctx context.Context, command string) (printed, log string, err error) {
	words, err := exec.CommandContext(ctx, "bash", "-c", `printf '%s\0' `+command).Output()
	if err != nil {
		return "", command, fmt.Errorf("splitting the command into words: %w", err)
	}
	var only, all bytes.Buffer
	fmt.Fprintln(&all, command)
	root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{ConfigFlags: genericclioptions.NewConfigFlags(true),
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.MultiWriter(&only, &all), ErrOut: &all}})
	root.SetArgs(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")[1:])
	ended := make(chan error)
	util.BehaviorOnFatal(func(message string, _ int) { // kubectl does not expect it to return
		ended <- errors.New(message)
		runtime.Goexit()
	})
	defer util.DefaultBehaviorOnFatal()
	go func() { ended <- root.ExecuteContext(ctx) }()
	err = <-ended
	return only.String(), all.String(), err
}

// shows wants a command that is there to show something to show it: a field that does not exist is empty everywhere.
func shows(command, printed string) error {
	showing := regexp.MustCompile(`^kubectl (?:auth|describe|get|logs|thalassa) `).MatchString(command)
	if showing && !regexp.MustCompile(`(?m)\S$`).MatchString(printed) {
		return errors.New("this command prints nothing, or its last field is empty")
	}
	if !strings.Contains(command, "custom-columns=") {
		return nil
	}
	rows := strings.Split(strings.TrimSpace(printed), "\n")
	for _, column := range regexp.MustCompile(`\S+`).FindAllStringIndex(rows[0], -1) {
		if !slices.ContainsFunc(rows[1:], func(row string) bool {
			return !strings.HasPrefix(row[column[0]:], "<none>")
		}) {
			return fmt.Errorf("the column %s is empty in every row", rows[0][column[0]:column[1]])
		}
	}
	return nil
}

// TestShows: a command that is there to show something has to.
func TestShows(t *testing.T) {
	for _, test := range []struct {
		command, printed string
		wrong            bool
	}{
		{"kubectl get nodes", "", true},
		{"kubectl edit node worker-1", "", false},
		{"kubectl get nodes --output jsonpath=x", "a \nb ", true},
		{"kubectl get nodes --output jsonpath=x", "a \nb 1", false},
		{"kubectl get nodes --output custom-columns=A:.a,B:.b,C:.c", "A   B        C\na   <none>   c", true},
		{"kubectl get nodes --output custom-columns=A:.a,B:.b,C:.c", "A   B        C\na   <none>   c\nb   2        d",
			false},
	} {
		if err := shows(test.command, test.printed); (err != nil) != test.wrong {
			t.Errorf("%q with %q gives %v", test.command, test.printed, err)
		}
	}
}
