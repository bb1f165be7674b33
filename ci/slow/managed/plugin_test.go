package managed

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
)

// wantPlugin wants kubectl thalassa in the hosting cluster to show the Service web and the Node worker of the served
// cluster, with the kubeconfig that is mounted in the pods. The hosting cluster has no such Service, and the Node host.
// Its accounts may not write Services there, so that the workload has to be named.
func (c *cluster) wantPlugin(t *testing.T, namespace string) {
	t.Helper()
	program := host.Program(t)
	for arguments, want := range map[string][]string{
		"plan --all-namespaces -o wide": {"Service default/web (", "No changes: the cloud agrees with 1 Service."},
		"nodes":                         {"worker "},
		"doctor -o wide": {"The API server answers.", "the user of its kubeconfig",
			"1 Node, ", "1 Service with a load balancer, 1 in sync.", "service/default/web: "},
	} {
		cmd := exec.CommandContext(t.Context(), program, append(strings.Fields(arguments),
			"--ccm="+namespace+"/thalassa-ccm")...)
		cmd.Args[0] = "kubectl-thalassa"
		cmd.Env = []string{"KUBECONFIG=" + c.plane.Kubeconfig(), "HOME=" + t.TempDir()}
		output, err := cmd.CombinedOutput() // nodes and doctor fail if the Node, which has no kubelet, is not ready
		for _, text := range want {
			if !strings.Contains(string(output), text) {
				t.Errorf("%s (%v) lacks %q:\n%s", arguments, err, text, output)
			}
		}
		if strings.Contains(string(output), "node/host") || strings.Contains(string(output), "\nhost ") {
			t.Errorf("%s shows a Node of the hosting cluster:\n%s", arguments, output)
		}
	}
}
