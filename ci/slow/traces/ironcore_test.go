package traces

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
)

func TestIronCore(t *testing.T) {
	r := newRig(t, controlplanetest.Own(t))
	namespace := controlplanetest.NamespaceIn(t, r.plane) // in IronCore, which has the same API server
	access := r.plane.Config()
	r.must(ironcorelab.Serve(t.Context(), r.plane, ""))
	lab, err := ironcorelab.Start(t.Context(), access, ironcorelab.Options{Namespace: namespace, Network: "nodes",
		Report: func(err error) { t.Log(err) }})
	r.must(err)
	t.Cleanup(lab.Stop)
	r.must(lab.AddNetwork(t.Context()))
	r.must(lab.AddMachine(t.Context(), role.Machine{Name: "traced", Pool: namespace, Zone: "z1", Region: "r1",
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1})}}))
	r.addNode("traced")
	r.must(controlplane.WriteKubeconfig(r.path("kubeconfig"), access))
	stop := r.start(fmt.Sprintf(`{"networkName": "nodes", "clusterName": "traced", "namespace": %q}`, namespace),
		"--cloud-provider=ironcore", "--ironcore-kubeconfig="+r.path("kubeconfig"), "--allocate-node-cidrs=false")
	r.routed("traced")
	r.serve("web")
	open, plain := r.metrics("application/openmetrics-text"), r.metrics("text/plain")
	r.remove("web")
	stop()

	const patch = apply + "patch loadbalancers"
	id, spans := r.wantOne("web", root+" > diff", root+" > apply", patch, root+" > patch services/status")
	call, _ := find(spans, patch)
	if !strings.HasPrefix(attribute(call, "http.response.status_code"), "20") ||
		attribute(call, "server.address") == "" {
		t.Errorf("the request: %v", call.Attributes().AsRaw())
	}
	lines := r.logged("Cloud write", `request="patch loadbalancers"`, "Service "+r.namespace+"/web", id)
	if len(lines) != 1 {
		t.Errorf("the audit log has %d lines with the trace %s: %q", len(lines), id, lines)
	}
	r.wantNode("list machines", "patch networkinterfaces")
	checkMetrics(t, "ironcore", "service_lb_writes_total", open, plain)
	r.wantNothingOf(string(access.KeyData), open)
}
