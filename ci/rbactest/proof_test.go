package rbactest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// updateFlag makes the test of the reference page write it.
const updateFlag = "update"

// together is how many programs run at a time unless -parallel says it: they wait most of the time, each with a
// control plane of 300 MiB.
const together = "4"

func TestMain(m *testing.M) {
	flag.Bool(updateFlag, false, "write docs/reference/rbac.md anew")
	if err := flag.Set("test.parallel", together); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: saying how many tests run at a time:", err)
		os.Exit(1)
	}
	if tier.Full() {
		controlplanetest.Main(m, withoutNetworks)
	} else {
		controlplanetest.Main(m) // in the control plane of the run, Kubernetes gives nodes their networks
	}
}

// withoutNetworks leaves it to the program to give nodes the networks of their pods.
func withoutNetworks(o *controlplane.Options) {
	o.Flags = map[string][]string{"kube-controller-manager": {"--allocate-node-cidrs=false"}}
}

// profile is a way to install the chart, and the work the program then does.
type profile struct {
	name string
	// values are beside those every installation needs.
	values string
	// nodes, lifecycle and services say which controllers work.
	nodes, lifecycle, services bool
	// reload is how often credentials change, which takes ten seconds each.
	reload int
	// accounts says that every controller has one of its own.
	accounts bool
	// orphans says that what Services left behind is removed.
	orphans bool
	// routes and networks say that there are routes to pods, and that nodes are given networks.
	routes, networks bool
	// managed says that the program holds a kubeconfig of the cluster only.
	managed bool
}

// Parts of values.
const (
	accounts      = "useServiceAccountCredentials: {enabled: true}\n"
	removeOrphans = "cloudConfig: {loadBalancer: {removeOrphans: true}}\n"
	routes        = "cloudConfig: {clusterCIDR: 10.244.0.0/16, routes: {enabled: true, driftPeriod: 1}}\n"
	networks      = "cloudConfig: {clusterCIDR: 10.244.0.0/16}\nallocateNodeCIDRs: {enabled: true}\n"
	both          = "cloudConfig: {clusterCIDR: 10.244.0.0/16, routes: {enabled: true, driftPeriod: " +
		"1}}\nallocateNodeCIDRs: {enabled: true}\n"
	onlyThose = "controllers: {cloud-node-controller: false, cloud-node-lifecycle-controller: false, " +
		"service-lb-controller: false}\n"
	workloadIdentity = "credentials: {existingSecret: null, workloadIdentity: {enabled: true, serviceAccountID: " +
		emulator.DefaultServiceAccount + "}}\n"
)

// installations are the ways to install the chart that permit different accounts something.
func installations() []profile {
	return []profile{
		{name: "self-managed"},
		{name: "accounts", values: accounts, accounts: true},
		{name: "managed", managed: true, values: `profile: managed
tenant: {kubeconfig: {existingSecret: tenant}, subject: {kind: ServiceAccount, name: tenant-ccm, namespace: kube-system}}
metrics: {clientCA: {existingSecret: clients}, readers: [{kind: User, name: prometheus}]}
`},
	}
}

// profiles are all installations with every set of controllers, and the ways to say the same differently.
func profiles() []profile {
	var all []profile
	for _, p := range installations() {
		for set := range 1 << 3 {
			all = append(all, p.with(set&1 != 0, set&2 != 0, set&4 != 0))
		}
	}
	return append(all,
		profile{name: "configured for nodes", values: "cloudConfig: {loadBalancer: {enabled: false}}", nodes: true,
			lifecycle: true},
		profile{name: "configured for services", values: "cloudConfig: {instancesV2: {enabled: false}}",
			services: true},
		profile{name: "accounts of the release",
			values: "useServiceAccountCredentials: {enabled: true, createAccounts: true}", nodes: true, lifecycle: true,
			services: true, accounts: true, reload: 2},
		profile{name: "orphans by accounts", values: accounts + removeOrphans, nodes: true, lifecycle: true,
			services: true, accounts: true, orphans: true, reload: 2},
		profile{name: "workload identity by accounts", values: accounts + workloadIdentity, nodes: true,
			lifecycle: true, services: true, accounts: true},
		profile{name: "workload identity without controllers", accounts: true,
			values: accounts + workloadIdentity + "controllers: {cloud-node-controller: false, " +
				"cloud-node-lifecycle-controller: false, service-lb-controller: false}\n"},
		profile{name: "routes", values: routes, nodes: true, lifecycle: true, services: true, routes: true},
		profile{name: "routes alone", values: routes + onlyThose, routes: true},
		profile{name: "networks alone", values: networks + onlyThose, networks: true, reload: 2},
		profile{name: "routes and networks by accounts", values: accounts + both, nodes: true, lifecycle: true,
			services: true, accounts: true, routes: true, networks: true, reload: 2},
		profile{name: "new credentials", nodes: true, lifecycle: true, services: true, reload: 1},
	)
}

// runs are the profiles for which the program runs: all of them, or in the quick tier those that together use each
// rule of the chart but two: the one for networks of nodes, which Kubernetes itself gives them there, and the one for
// events about orphans, for which the program waits a minute. TestSetsAreUnions shows that no other set of controllers
// is permitted anything else.
func runs() []profile {
	if tier.Full() {
		return profiles()
	}
	const all = " cloud-node-controller+cloud-node-lifecycle-controller+service-lb-controller"
	quick := []string{"routes", "accounts" + all, "managed" + all, "workload identity by accounts"}
	return slices.DeleteFunc(profiles(), func(p profile) bool { return !slices.Contains(quick, p.name) })
}

// with is the installation with these controllers.
func (p profile) with(nodes, lifecycle, services bool) profile {
	p.nodes, p.lifecycle, p.services = nodes, lifecycle, services
	if idle := !nodes && !lifecycle && !services; idle || p.accounts {
		p.reload = 2 // all that the cloud itself then does: an event about it, and another
	}
	on := p.controllers()
	var names, switches []string
	for _, name := range slices.Sorted(maps.Keys(on)) {
		switches = append(switches, fmt.Sprintf("%s: %t", name, on[name]))
		if on[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = []string{"without controllers"}
	}
	p.name += " " + strings.Join(names, "+")
	p.values += "controllers: {" + strings.Join(switches, ", ") + "}\n"
	return p
}

// controllers says which work, by their names in values.yaml.
func (p profile) controllers() map[string]bool {
	return map[string]bool{"cloud-node-controller": p.nodes, "cloud-node-lifecycle-controller": p.lifecycle,
		"service-lb-controller": p.services}
}

// knownUnused is what the profile is permitted and does not use.
func (p profile) knownUnused() []Permission {
	if !p.managed {
		return nil
	}
	// Clients of the metrics show certificates, so no token has to be reviewed by the cluster.
	return []Permission{{User: "system:serviceaccount:kube-system:tenant-ccm", Verb: "create",
		Group: "authentication.k8s.io", Resource: "tokenreviews"}}
}

// TestEveryControllerIsSwitched: the sets are made of all the controllers that the chart has.
func TestEveryControllerIsSwitched(t *testing.T) {
	values, err := chartutil.ReadValuesFile(filepath.Join(chartDir(t), chartutil.ValuesfileName))
	if err != nil {
		t.Fatal(err)
	}
	controllers, err := values.Table("controllers")
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(controllers.AsMap()))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(profile{}.controllers()))); diff != "" {
		t.Errorf("controllers (-chart +tests):\n%s", diff)
	}
}

// TestGrantedIsUsed runs the program once for every profile, and compares what its identities may do with what they
// did.
func TestGrantedIsUsed(t *testing.T) {
	program := host.Program(t)
	for _, p := range runs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			prove(t, program, p)
		})
	}
}

// TestSetsAreUnions: a set of controllers is permitted what each of them is permitted, and what no controller needs.
func TestSetsAreUnions(t *testing.T) {
	c := &cluster{cloud: cloud.Cloud{URL: "https://cloud.example.com"}}
	permitted := func(p profile) []string {
		_, roles := sides(t, c, p)
		granted, _, err := Grants(roles)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range granted {
			all = append(all, one.String())
		}
		return all
	}
	for _, p := range installations() {
		none := permitted(p.with(false, false, false))
		nodes, lifecycle := permitted(p.with(true, false, false)), permitted(p.with(false, true, false))
		services := permitted(p.with(false, false, true))
		for set := range 1 << 3 {
			of := p.with(set&1 != 0, set&2 != 0, set&4 != 0)
			want := slices.Clone(none)
			for i, one := range [][]string{nodes, lifecycle, services} {
				if set&(1<<i) != 0 {
					want = append(want, one...)
				}
			}
			slices.Sort(want)
			got := permitted(of)
			slices.Sort(got)
			if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
				t.Errorf("%s (-union +permitted):\n%s", of.name, diff)
			}
		}
	}
}

// prove fails for each permission that is granted and not used, or used and not granted.
func prove(t *testing.T, program string, p profile) {
	t.Helper()
	c := newCluster(t)
	c.reset(t)
	workload, roles := sides(t, c, p)
	c.permit(t, roles)
	granted, foreign, err := Grants(roles)
	if err != nil {
		t.Fatal(err)
	}
	log, begin := c.auditLog(t)
	namespace, account := "kube-system", "thalassa-ccm"
	if p.managed {
		account = "tenant-ccm"
	}
	s := &scenario{cluster: c, t: t, profile: p, namespace: controlplanetest.NamespaceIn(t, c.plane),
		pod: newPod(t, program, workload, c.identity(t, namespace, account), c.clients)}
	s.pod.write(t, s.pod.mount("token"), map[string]string{"token": c.subjectToken(t)})
	t.Cleanup(func() { logForbidden(t, log, begin) })
	s.play()
	requests, err := log.since(begin)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, granted, c.ofOthers(t, roles, foreign), p.knownUnused(), requests)
}

// auditLog is that of the cluster, from now on: what a program of an earlier test asked for before, and was answered
// after, is not in it.
type auditLog struct {
	path   string
	offset int64
}

func (c *cluster) auditLog(t *testing.T) (log auditLog, begin time.Time) {
	t.Helper()
	offset, err := Size(c.plane.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return auditLog{c.plane.AuditLog(), offset}, time.Now()
}

func (a auditLog) since(begin time.Time) ([]Request, error) {
	requests, err := Requests(a.path, a.offset)
	return slices.DeleteFunc(requests, func(r Request) bool { return r.Received.Before(begin) }), err
}

// logForbidden logs requests that were forbidden: they may be why the test failed.
func logForbidden(t *testing.T, log auditLog, begin time.Time) {
	t.Helper()
	requests, err := log.since(begin)
	if err != nil || !t.Failed() {
		return
	}
	for _, r := range requests {
		if r.isProgram() && !r.Allowed {
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
		role, err := c.client.RbacV1().Roles(metav1.NamespaceSystem).Get(t.Context(), reference.Name,
			metav1.GetOptions{})
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

// judge compares what accounts may do with what they did. Accounts are the program's alone, and it has no others.
// What roles of Kubernetes itself permit need not be used. What knownUnused lists must not be used.
func judge(t *testing.T, granted, ofOthers, knownUnused []Permission, requests []Request) {
	t.Helper()
	for _, p := range Repeated(granted) {
		t.Errorf("granted twice: %s", p)
	}
	mismatched, done := ByAccount(granted, requests)
	for _, r := range mismatched {
		t.Errorf("%s is used by %s, or uses another account: %s %s", r.User, r.UserAgent, r.Permission, r.Path)
	}
	if len(done) == 0 {
		t.Fatal("the program did nothing that the audit log has")
	}
	var used []Permission
	for _, r := range done {
		if !r.Allowed {
			t.Errorf("forbidden: %s %s: %s", r.Permission, r.Path, r.Reason)
		}
		if r.Path == "" { // version and discovery are open to every user
			used = append(used, r.Permission)
		}
	}
	unused, _ := Compare(granted, used)
	for _, p := range unused {
		if !slices.Contains(knownUnused, p) {
			t.Errorf("granted and not used: %s", p)
		}
	}
	for _, p := range knownUnused {
		if !slices.Contains(unused, p) {
			t.Errorf("used or not granted, and listed as known to be unused: %s", p)
		}
	}
	_, missing := Compare(append(slices.Clone(granted), ofOthers...), used)
	for _, p := range missing {
		t.Errorf("used and not granted: %s", p)
	}
}
