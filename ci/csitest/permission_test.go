package csitest

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
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

const chartDir = "../../charts/thalassa-csi"

// release installs the roles of the chart, and no program that would run.
func release(namespace string) chart.Release {
	return chart.Release{Name: "thalassa-csi", Namespace: namespace, Values: map[string]any{
		"cloudConfig":    map[string]any{"organisation": "a", "vpcIdentity": "vpc-1", "cluster": "k8s-test"},
		"credentials":    map[string]any{"existingSecret": "none"},
		"snapshots":      map[string]any{"enabled": true, "controller": map[string]any{"enabled": true}},
		"storageClasses": []any{}}}
}

// TestVolume follows a volume from its claim to its deletion, with the programs that drive the driver in a cluster and
// with the account of the chart. Nothing is refused, and what the chart grants is used, but for what unusedHere lists.
func TestVolume(t *testing.T) {
	wantPermitted(t, "thalassa-csi-controller", unusedHere, func(namespace, kubeconfig string) {
		newCluster(t, namespace, kubeconfig).followVolume()
	})
}

// wantPermitted installs the roles of the chart, lets act work with one of the accounts, and compares what the account
// did with what the roles grant it. What is granted has to be used, but for what mayBeUnused reports.
func wantPermitted(t *testing.T, account string, mayBeUnused func(rbactest.Permission) bool,
	act func(namespace, kubeconfig string)) {
	t.Helper()
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	r := release(namespace)
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
	compare(t, r, "system:serviceaccount:"+namespace+":"+account, requests, mayBeUnused)
}

// install installs a release until the test ends.
func install(t *testing.T, r chart.Release) {
	t.Helper()
	plane := controlplanetest.Get(t)
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	if _, err := chart.Install(t.Context(), plane.Config(), chartDir, r, &progress); err != nil {
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
	manifest, _, err := chart.Render(t.Context(), chartDir, r)
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
func compare(t *testing.T, r chart.Release, user string, requests []rbactest.Request,
	mayBeUnused func(rbactest.Permission) bool) {
	t.Helper()
	permitted := granted(t, r, user)
	var done []rbactest.Permission
	for _, request := range requests {
		if request.User == user && request.Path == "" {
			done = append(done, request.Permission)
		}
	}
	unused, missing := rbactest.Compare(permitted, done)
	for _, p := range missing {
		t.Errorf("not granted: %s", p)
	}
	for _, p := range unused {
		if !mayBeUnused(p) {
			t.Errorf("granted, and not used: %s", p)
		}
	}
	for _, p := range rbactest.Repeated(permitted) {
		t.Errorf("granted twice: %s", p)
	}
}

// unusedHere reports whether a permission is not needed for the one volume of the test: caches watch, and list only
// where the API server cannot send a list in a watch; the sidecars get an object that a cache lacks; and patch events
// increments the count of a repeated event.
func unusedHere(p rbactest.Permission) bool {
	return p.Verb == "list" || p.Verb == "get" || p.Verb == "patch" && p.Resource == "events"
}
