package manager

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fakecloud "k8s.io/cloud-provider/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestInspect: the flags of a process give its cloud, which only reads, and its controllers.
func TestInspect(t *testing.T) {
	var asked cloud.Options
	provider := existing("first", &fakecloud.Cloud{DisableRoutes: true})
	create := provider.New
	provider.New = func(ctx context.Context, o cloud.Options) (*cloud.Cloud, error) {
		asked = o
		return create(ctx, o)
	}
	from := cloud.Environment{Variable: strings.ToLower}
	got, err := Inspect(t.Context(), testBuild, []Provider{provider}, []string{"--cloud-config=/etc/x",
		"--cluster-name=blue", "--controllers=*,-cloud-node-lifecycle-controller", "--secure-port=0",
		"--leader-elect-resource-name=mine"}, from, true)
	if err != nil {
		t.Fatal(err)
	}
	if !asked.ReadOnly || asked.ConfigFile != "/etc/x" || asked.ClusterName != "blue" ||
		asked.Environment.Getenv("X") != "x" {
		t.Errorf("the cloud was made from %+v", asked)
	}
	got.Cloud = nil
	want := &Inspection{ConfigFile: "/etc/x", ClusterName: "blue", LeaseNamespace: "kube-system", LeaseName: "mine",
		LeaderElection: true, Controllers: map[string]string{
			"cloud-node-controller":           "the cloud has no instances",
			"cloud-node-lifecycle-controller": "not in --controllers",
			"node-ipam-controller":            "--allocate-node-cidrs=false",
			"node-route-controller":           "the cloud has no routes",
			"service-lb-controller":           "",
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inspection (-want +got):\n%s", diff)
	}
	if !got.Runs("service-lb-controller") || got.Runs("cloud-node-controller") || got.Runs("unknown") {
		t.Error("Runs contradicts Controllers")
	}
}
