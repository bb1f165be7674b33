package demo

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ironcore-dev/ironcore/client-go/ironcore/versioned"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestIronCoreStory also keeps everything running at the end, to look into IronCore as the demo proposes.
func TestIronCoreStory(t *testing.T) {
	tier.NeedFull(t)
	dir := ownTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &story{}
	out.when = map[string]func(){"logs: ": func() {
		machinesThere(t, out.text.String())
		cancel()
	}}
	if err := Run(ctx, Options{Root: sources(t), Output: out, Cloud: cloudIronCore, Keep: true}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inOrder(t, out.String(),
		`== Building the programs`,
		`Kubernetes v1\.\d+\.\d+ answers at https://127\.0\.0\.1:\d+`,
		`IronCore \(API server, controller manager, .*\) answers at https://127\.0\.0\.1:\d+`,
		`helm install thalassa-ccm .* --set cloud=ironcore,part=cloud`,
		`Server demo-control-plane \(127\.\d+\.\d+\.\d+, zone nl-01a\) .*tainted`,
		`Server demo-worker-1 `, `Server demo-worker-2 `,
		`== helm install thalassa-ccm charts/thalassa-ccm --set cloud=ironcore`,
		`put pod kube-system/thalassa-ccm-\w+ on demo-control-plane, which runs /thalassa-cloud-controller-manager`,
		`providerID ironcore://demo/demo-\S+, zone nl-01\w, region nl-01, type small, addresses InternalIP 127\.\S+, Hostname \S+; the taint is gone`,
		`providerID ironcore://`, `providerID ironcore://`,
		`== kubectl apply -f examples/web.yaml`,
		`is "without an address"`, `is "ready"`,
		`Service default/web has the address 127\.\d+\.1\.1 \(ipMode VIP\)`,
		`GET http://127\.\d+\.1\.1:(80|20080)/ through the load balancer:`, `pod: web-`,
		`== A fourth server joins`,
		`demo-worker-3: providerID ironcore://demo/demo-worker-3`,
		`demo-worker-3 is a target of the load balancer now, which has 3`,
		`== kubectl delete -f examples/web.yaml`,
		`the cloud is empty: no LoadBalancer, no LoadBalancerRouting`,
		`keeps running until Ctrl-C`, `== Removing everything`, `Nothing is left running`,
	)
	nothingLeft(t, dir)
}

// machinesThere fails the test unless the four servers are Machines of the API server whose kubeconfig is printed.
func machinesThere(t *testing.T, printed string) {
	t.Helper()
	match := regexp.MustCompile(`--kubeconfig=(\S+) --namespace=demo`).FindStringSubmatch(printed)
	if match == nil {
		t.Error("no kubeconfig of IronCore is printed")
		return
	}
	config, err := clientcmd.BuildConfigFromFlags("", match[1])
	if err != nil {
		t.Error(err)
		return
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Error(err)
		return
	}
	machines, err := client.ComputeV1alpha1().Machines(ironcoreNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(machines.Items) != 4 {
		t.Errorf("%d Machines and error %v, want 4", len(machines.Items), err)
	}
}

func TestRefusedClouds(t *testing.T) {
	dir := ownTemp(t)
	for want, options := range map[string]Options{
		`there is no cloud "nebula": use thalassa or ironcore`: {Cloud: "nebula"},
		errOwnClusterOnly.Error():                              {Cloud: cloudIronCore, Cluster: "mine"},
	} {
		options.Root, options.Output = sources(t), &story{}
		if err := Run(t.Context(), options); err == nil || err.Error() != want {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
	nothingLeft(t, dir)
}

func TestKeepCommand(t *testing.T) {
	for cloud, want := range map[string]string{
		"": "make demo KEEP=1", cloudThalassa: "make demo KEEP=1", cloudIronCore: "make demo CLOUD=ironcore KEEP=1",
	} {
		if got := (Options{Cloud: cloud}).keepCommand(); got != want {
			t.Errorf("cloud %q: %s, want %s", cloud, got, want)
		}
	}
}

// TestMakeChoosesTheCloud: only make's own command line does.
func TestMakeChoosesTheCloud(t *testing.T) {
	for want, arguments := range map[string][]string{
		"bin/demo": {}, "bin/demo --cloud='ironcore'": {"CLOUD=ironcore"},
	} {
		command := exec.CommandContext(t.Context(), "make",
			append([]string{"--no-print-directory", "--dry-run", "demo"}, arguments...)...)
		command.Dir = repotest.Root(t, "Makefile")
		command.Env = append(os.Environ(), "CLOUD=thalassa", "MAKEFLAGS=", "MAKEOVERRIDES=")
		text, err := command.Output()
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if last := lines[len(lines)-1]; err != nil || strings.TrimSpace(last) != "exec "+want {
			t.Errorf("make demo %v runs %q, error %v; want %s", arguments, last, err, want)
		}
	}
}
