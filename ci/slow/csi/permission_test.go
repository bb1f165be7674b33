package csi

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/rbactest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// chartDir is the folder of the chart.
func chartDir(tb testing.TB) string {
	tb.Helper()
	return checkout.Path(tb, "charts/thalassa-csi")
}

// profile is a way to install the chart that permits the accounts something else than another one.
type profile struct {
	name string
	// snapshots and controller are the values snapshots.enabled and snapshots.controller.enabled.
	snapshots, controller bool
	// refused are the requests, by verb and resource, for which there is no permission, each with the reason.
	refused map[string]string
	// binaries is the folder of the sidecars.
	binaries string
}

// release installs the roles of the chart, and no program that would run.
func (p profile) release(namespace string) chart.Release {
	return chart.Release{Name: "thalassa-csi", Namespace: namespace, Values: map[string]any{
		"cloudConfig":    map[string]any{"organisation": "a", "vpcIdentity": "vpc-1", "cluster": "k8s-test"},
		"credentials":    map[string]any{"existingSecret": "none"},
		"snapshots":      map[string]any{"enabled": p.snapshots, "controller": map[string]any{"enabled": p.controller}},
		"storageClasses": []any{}}}
}

// sidecars are the programs that run with the account of the chart. A snapshot-controller that the chart does not
// install has another kubeconfig. Caches list and then watch, as with an API server that sends no list in a watch.
func (p profile) sidecars(other string) sidecar.Options {
	o := sidecar.Options{Binaries: p.binaries, Env: []string{"KUBE_FEATURE_WatchListClient=false"}}
	switch {
	case !p.snapshots:
		o.Programs = []string{sidecar.Provisioner, sidecar.Attacher, sidecar.Resizer}
	case !p.controller:
		o.Flags = map[string][]string{sidecar.SnapshotController: {"--kubeconfig=" + other}}
	}
	return o
}

// TestVolume follows a volume from its claim to its deletion, with the programs that drive the driver in a cluster and
// with the account of the chart, in each profile. What the chart grants is used, and only what the profile lists is
// requested without a permission.
func TestVolume(t *testing.T) {
	binaries := buildSidecars(t) // first, because wantWait is about the first minute of the driver
	for _, p := range []profile{
		{name: "without snapshots", refused: map[string]string{"list volumesnapshots": "where snapshots are defined, " +
			"csi-provisioner tries whether it may look for finalizers of snapshots, and otherwise does not look for " +
			"them"}},
		{name: "without snapshot-controller", snapshots: true},
		{name: "with snapshot-controller", snapshots: true, controller: true},
	} {
		p.binaries = binaries
		t.Run(p.name, func(t *testing.T) {
			wantPermitted(t, p, "thalassa-csi-controller", func(namespace, kubeconfig string) {
				newCluster(t, p, namespace, kubeconfig).followVolume(p.snapshots)
			})
		})
	}
}

// wantPermitted installs the roles of the chart, lets act work with one of the accounts, and compares what the account
// did with what the roles grant it.
func wantPermitted(t *testing.T, p profile, account string, act func(namespace, kubeconfig string)) {
	t.Helper()
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	r := p.release(namespace)
	install(t, r)
	offset, err := rbactest.Size(plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	act(namespace, accountKubeconfig(t, namespace, account))
	requests, err := rbactest.Requests(plane.AuditLog(), offset)
	if err != nil {
		t.Fatal(err)
	}
	p.compare(t, r, "system:serviceaccount:"+namespace+":"+account, requests)
}

// install installs a release until the test ends.
func install(t *testing.T, r chart.Release) {
	t.Helper()
	plane := controlplanetest.Get(t)
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	if _, err := chart.Install(t.Context(), plane.Config(), chartDir(t), r, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	t.Cleanup(func() {
		err := chart.Uninstall(context.WithoutCancel(t.Context()), plane.Config(), r.Name, r.Namespace, nil)
		if err != nil {
			t.Error(err)
		}
	})
}

// accountKubeconfig returns the path of a kubeconfig with a token of a ServiceAccount.
func accountKubeconfig(t *testing.T, namespace, name string) string {
	t.Helper()
	plane := controlplanetest.Get(t)
	token, err := controlplanetest.Client(t, plane).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(plane.Config())
	k := clientcmdapi.NewConfig()
	k.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	k.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	k.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	k.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// granted are the permissions that the roles of the chart grant an account.
func granted(t *testing.T, r chart.Release, user string) []rbactest.Permission {
	t.Helper()
	manifest, _, err := chart.Render(t.Context(), chartDir(t), r)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := rbactest.Grants(objects)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p rbactest.Permission) bool { return p.User != user })
}

// compare compares what the roles of the chart grant an account with what it did.
func (p profile) compare(t *testing.T, r chart.Release, user string, requests []rbactest.Request) {
	t.Helper()
	permitted := granted(t, r, user)
	var done []rbactest.Permission
	for _, request := range requests {
		if request.User == user && request.Path == "" {
			done = append(done, request.Permission)
		}
	}
	unused, missing := rbactest.Compare(permitted, done)
	for _, p := range unused {
		t.Errorf("granted, and not used: %s", p)
	}
	wantListed(t, missing, p.refused)
	for _, p := range rbactest.Repeated(permitted) {
		t.Errorf("granted twice: %s", p)
	}
}

// wantListed fails for each permission that is missing and not listed by its verb and resource, and for each that is
// listed and not missing.
func wantListed(t *testing.T, missing []rbactest.Permission, listed map[string]string) {
	t.Helper()
	found := map[string]bool{}
	for _, p := range missing {
		found[p.Verb+" "+p.Resource] = true
		if listed[p.Verb+" "+p.Resource] == "" {
			t.Errorf("not granted: %s", p)
		}
	}
	for request, reason := range listed {
		if !found[request] {
			t.Errorf("%s is not requested without a permission (%s): remove it from the list", request, reason)
		}
	}
}
