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
	plane, namespace := controlplanetest.Get(t), controlplanetest.Namespace(t)
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	r := release(namespace)
	var progress bytes.Buffer
	if _, err := chart.Install(t.Context(), plane.Config(), chartDir, r, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	t.Cleanup(func() {
		err := chart.Uninstall(context.WithoutCancel(t.Context()), plane.Config(), r.Name, namespace, nil)
		if err != nil {
			t.Error(err)
		}
	})
	offset, err := rbactest.Size(plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	newCluster(t, namespace, accountKubeconfig(t, namespace, "thalassa-csi-controller")).followVolume()
	requests, err := rbactest.Requests(plane.AuditLog(), offset)
	if err != nil {
		t.Fatal(err)
	}
	wantPermitted(t, r, "system:serviceaccount:"+namespace+":thalassa-csi-controller", requests)
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

// wantPermitted compares what the roles of the chart grant an account with what it did.
func wantPermitted(t *testing.T, r chart.Release, user string, requests []rbactest.Request) {
	t.Helper()
	manifest, _, err := chart.Render(t.Context(), chartDir, r)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	granted, _, err := rbactest.Grants(objects)
	if err != nil {
		t.Fatal(err)
	}
	granted = slices.DeleteFunc(granted, func(p rbactest.Permission) bool { return p.User != user })
	var done []rbactest.Permission
	for _, request := range requests {
		if request.User == user && request.Path == "" {
			done = append(done, request.Permission)
		}
	}
	unused, missing := rbactest.Compare(granted, done)
	for _, p := range missing {
		t.Errorf("not granted: %s", p)
	}
	for _, p := range unused {
		if unusedHere()[p.Verb+" "+p.Resource] == "" && p.Verb != "list" && p.Verb != "get" {
			t.Errorf("granted, and not used: %s", p)
		}
	}
	for _, p := range rbactest.Repeated(granted) {
		t.Errorf("granted twice: %s", p)
	}
}

// unusedHere are permissions that are not needed for the one volume of the test, with the reason why they are granted.
// Also not needed are list and get: caches watch, and list only where the API server cannot send a list in a watch;
// the sidecars get an object that a cache lacks.
func unusedHere() map[string]string {
	return map[string]string{
		"patch events": "increments the count of a repeated event",
	}
}
