package plugin

import (
	"context"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/terminal"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// longName is as long as names of Services can be.
func longName() string { return strings.Repeat("long-", 12) + "one" }

// addLongNames adds objects whose names take most of a line.
func (r *rig) addLongNames() {
	r.Helper()
	_, err := r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: longName()}}, metav1.CreateOptions{})
	r.must(err)
	_, err = r.cluster.CoreV1().Services("default").Create(r.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: longName()}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	r.must(err)
}

// testTerminal: what commands show fits the terminal, and has colours only there, and not if NO_COLOR is set.
func (r *rig) testTerminal() {
	r.addLongNames()
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Minute)
	defer cancel()
	for command, want := range map[string]string{"plan -A": "create load balancer", "doctor": "Configuration",
		"nodes": "NODE", "orphans": orphanUID, "migrate": "Not ready", "top --once -A": "IN SYNC"} {
		terminal.Check(r, want, func() *exec.Cmd { return r.command(ctx, strings.Fields(command)...) })
	}
	r.testProgress(ctx, terminal.New(r, 80))
	r.testTop(ctx, terminal.New(r, 80))
}

// testProgress: while the cloud does not answer a request, the terminal shows what the command does. The result takes
// its place.
func (r *rig) testProgress(ctx context.Context, on *terminal.Terminal) {
	hang, err := r.cloud.Inject(fault.Rule{Operation: "GET /v1/loadbalancers",
		Effect: fault.Effect{Kind: fault.Hang}})
	r.must(err)
	cmd := r.command(ctx, "plan", "-A")
	on.Start(cmd)
	on.Await(0, "Reading the cloud…")
	answered := on.Len()
	r.cloud.ClearFaults(hang)
	before, _, _ := strings.Cut(on.Await(answered, "Plan: "), "create load balancer")
	if !strings.Contains(before, terminal.Again) {
		on.Errorf("the result does not take the place of the progress: %q", before)
	}
	r.must(cmd.Wait())
}

// testTop: it refreshes in place, follows the size of the terminal, and q ends it and restores the terminal.
func (r *rig) testTop(ctx context.Context, on *terminal.Terminal) {
	before := on.Settings()
	cmd := r.command(ctx, "top", "-A", "--interval=1s")
	on.Start(cmd)
	on.Await(0, "…")
	first := on.Await(on.Len(), terminal.Home)
	if on.Settings() == before {
		on.Error("the terminal echoes keys and waits for lines")
	}
	terminal.RequireWidth(on, first, 80)
	on.Resize(200)
	wide := on.Await(on.Len(), longName())
	terminal.RequireWidth(on, wide, 200)
	on.Await(on.Len(), terminal.Home) // the next refresh is in place, too
	on.Press("q")
	on.Await(0, "\x1b[?1049l") // the screen before is back
	r.must(cmd.Wait())
	if on.Settings() != before {
		on.Error("the settings of the terminal are not as before")
	}
}
