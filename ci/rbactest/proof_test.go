package rbactest

import (
	"flag"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// updateFlag makes the test of the reference page write it.
const updateFlag = "update"

func TestMain(m *testing.M) {
	flag.Bool(updateFlag, false, "write docs/reference/rbac.md anew")
	controlplanetest.Main(m)
}

// profile is a way to install the chart, and the work the program then does.
type profile struct {
	name string
	// values are beside those every installation needs.
	values string
	// nodes, lifecycle and services say which controllers work.
	nodes, lifecycle, services bool
	// reload says that credentials change, too, which takes ten seconds.
	reload bool
	// managed says that the program holds a kubeconfig of the cluster only.
	managed bool
}

func profiles() []profile {
	return []profile{
		{name: "default", nodes: true, lifecycle: true, services: true, reload: true},
		{name: "nodes", values: "cloudConfig: {loadBalancer: {enabled: false}}", nodes: true, lifecycle: true},
		{name: "services", values: "cloudConfig: {instancesV2: {enabled: false}}", services: true},
		{name: "without life cycle", values: "controllers: {cloud-node-lifecycle-controller: false}", nodes: true, services: true},
		{name: "only life cycle", values: "controllers: {cloud-node-controller: false, service-lb-controller: false}", lifecycle: true},
		{name: "accounts", values: "useServiceAccountCredentials: {enabled: true}", nodes: true, lifecycle: true, services: true},
		{name: "accounts of the release", values: "useServiceAccountCredentials: {enabled: true, createAccounts: true}", nodes: true, lifecycle: true, services: true},
		{name: "managed", values: `{profile: managed, tenant: {kubeconfig: {existingSecret: tenant}, subject: {kind: ServiceAccount, name: tenant-ccm, namespace: kube-system}}}`,
			nodes: true, lifecycle: true, services: true, managed: true},
	}
}

// TestGrantedIsUsed runs the program once for every profile, and compares what its identities may do with what they did.
func TestGrantedIsUsed(t *testing.T) {
	for _, p := range profiles() {
		t.Run(p.name, func(t *testing.T) { prove(t, p) })
	}
}

// prove fails for each permission that is granted and not used, or used and not granted.
func prove(t *testing.T, p profile) {
	t.Helper()
	c := newCluster(t)
	workload, roles := sides(t, c, p)
	c.permit(t, roles)
	granted, foreign, err := Grants(roles)
	if err != nil {
		t.Fatal(err)
	}
	begin, err := Size(c.plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	namespace, account := "kube-system", "thalassa-ccm"
	if p.managed {
		account = "tenant-ccm"
	}
	s := &story{cluster: c, t: t, profile: p, namespace: controlplanetest.Namespace(t), pod: newPod(t, workload, c.identity(t, namespace, account))}
	t.Cleanup(func() { tellForbidden(t, c.plane.AuditLog(), begin) })
	s.play()
	requests, err := Requests(c.plane.AuditLog(), begin)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, granted, c.ofOthers(t, roles, foreign), requests)
}

// tellForbidden says why something may have waited in vain.
func tellForbidden(t *testing.T, log string, begin int64) {
	t.Helper()
	requests, err := Requests(log, begin)
	if err != nil || !t.Failed() {
		return
	}
	for _, r := range requests {
		if strings.HasPrefix(r.UserAgent, programName+"/") && !r.Allowed {
			t.Logf("forbidden: %s", r.Permission)
		}
	}
}

// sides renders the workload, and what the cluster permits it, which are two releases when managed.
func sides(t *testing.T, c *cluster, p profile) (workload, roles []runtime.Object) {
	t.Helper()
	values := c.values(t, p.values)
	if !p.managed {
		all := render(t, values)
		return all, all
	}
	values["part"] = "hosting"
	workload = render(t, values)
	values["part"] = "tenant"
	return workload, render(t, values)
}

// ofOthers are the permissions of roles that Kubernetes has made itself and that the chart binds.
func (c *cluster) ofOthers(t *testing.T, objects []runtime.Object, foreign []rbacv1.RoleRef) []Permission {
	t.Helper()
	var permissions []Permission
	for _, reference := range foreign {
		role, err := c.client.RbacV1().Roles(metav1.NamespaceSystem).Get(t.Context(), reference.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		more, _, err := Grants(append(slices.Clone(objects), role))
		if err != nil {
			t.Fatal(err)
		}
		permissions = append(permissions, more...)
	}
	return permissions
}

// judge compares. What roles of Kubernetes itself permit need not be used.
func judge(t *testing.T, granted, ofOthers []Permission, requests []Request) {
	t.Helper()
	for _, p := range Repeated(granted) {
		t.Errorf("granted twice: %s", p)
	}
	var done []Permission
	for _, r := range requests {
		if !strings.HasPrefix(r.UserAgent, programName+"/") {
			continue
		}
		if !r.Allowed {
			t.Errorf("forbidden: %s %s: %s", r.Permission, r.Path, r.Reason)
		}
		if r.Path == "" { // version and discovery are open to every user
			done = append(done, r.Permission)
		}
	}
	if len(done) == 0 {
		t.Fatal("the program did nothing that the audit log has")
	}
	unused, _ := Compare(granted, done)
	for _, p := range unused {
		t.Errorf("granted and not used: %s", p)
	}
	_, missing := Compare(append(slices.Clone(granted), ofOthers...), done)
	for _, p := range missing {
		t.Errorf("used and not granted: %s", p)
	}
}
