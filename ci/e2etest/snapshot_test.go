//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// snapshot is what an upgrade must not change: Nodes with their identities, and addresses of load balancers by the
// identities of those.
type snapshot struct{ Nodes, Balancers map[string]string }

// snapshot records what is there now. All nodes have to be ready and initialised.
func (l *lab) snapshot(t *testing.T) snapshot {
	t.Helper()
	now := snapshot{map[string]string{}, map[string]string{}}
	nodes, err := l.API().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		if !isReady(&node) || hasTaint(&node, taintUninitialized) || node.Spec.Unschedulable {
			t.Errorf("node %s has changed: taints %v", node.Name, node.Spec.Taints)
		}
		now.Nodes[node.Name] = fmt.Sprint(node.UID, node.Spec.ProviderID, node.Spec.PodCIDRs)
	}
	for _, balancer := range l.Cloud().State().LoadBalancers {
		now.Balancers[balancer.Identity] = strings.Join(balancer.Addresses, " ")
	}
	return now
}

// dropRoutes deletes the routes to the pods of a node.
func (l *lab) dropRoutes(t *testing.T, name string) {
	t.Helper()
	node, err := l.API().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := l.Customer()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := cloud.ListRouteTables(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for _, route := range table.Routes {
			if !slices.Contains(node.Spec.PodCIDRs, route.DestinationCidrBlock) {
				continue
			}
			if err := cloud.DeleteRouteTableRoute(t.Context(), table.Identity, route.Identity); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// record is what a command writes.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (r *record) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(text)
}

// lines are those that begin with a word.
func (r *record) lines(word string) (found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.text.String()) {
		if strings.HasPrefix(line, word) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// nowhere is a network for documentation, RFC 5737.
const nowhere = "203.0.113.0/28"

// watchRoutes monitors the routes of the VPC's router. The function that it returns ends that, and returns the routes
// to pods that were missing for some time. A route to nowhere that is added and deleted shows that the monitor works.
func (l *lab) watchRoutes(t *testing.T) (lost func() []string) {
	t.Helper()
	router, err := l.router()
	if err != nil {
		t.Fatal(err)
	}
	output := &record{}
	ctx, stop := context.WithCancel(t.Context())
	monitor := exec.CommandContext(ctx, "nsenter", "--net="+router, "ip", "monitor", "route")
	monitor.Stdout, monitor.Stderr = output, output
	if err := monitor.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		stop()
		_ = monitor.Wait() // it was killed
	})
	t.Cleanup(end)
	awaitMonitor := func() {
		before := len(output.lines("Deleted blackhole " + nowhere))
		eventually(t, "the monitor reports routes", func(ctx context.Context) error {
			for _, verb := range []string{"add", "del"} {
				if output, err := exec.CommandContext(ctx, "nsenter", "--net="+router, "ip", "route", verb, "blackhole",
					nowhere).CombinedOutput(); err != nil {
					return fmt.Errorf("ip route %s: %w: %s", verb, err, output)
				}
			}
			if len(output.lines("Deleted blackhole "+nowhere)) == before {
				return errors.New("a route was added and deleted, and the monitor did not report it")
			}
			return nil
		})
	}
	awaitMonitor()
	return func() []string {
		awaitMonitor()
		end()
		return slices.DeleteFunc(output.lines("Deleted "), func(line string) bool {
			to, err := netip.ParsePrefix(strings.Fields(line)[1])
			return err != nil || !isPods(to)
		})
	}
}

// roles are the objects with permissions that belong to the release, as "Kind name", sorted.
func (l *lab) roles(t *testing.T) (all []string) {
	t.Helper()
	rbac, everywhere := l.API().RbacV1(), metav1.ListOptions{}
	for kind, list := range map[string]func() (runtime.Object, error){
		"ClusterRole": func() (runtime.Object, error) {
			return rbac.ClusterRoles().List(t.Context(), everywhere)
		},
		"ClusterRoleBinding": func() (runtime.Object, error) {
			return rbac.ClusterRoleBindings().List(t.Context(), everywhere)
		},
		"Role": func() (runtime.Object, error) { return rbac.Roles("").List(t.Context(), everywhere) },
		"RoleBinding": func() (runtime.Object, error) {
			return rbac.RoleBindings("").List(t.Context(), everywhere)
		},
	} {
		objects, err := list()
		if err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(objects, func(object runtime.Object) error {
			about, err := meta.Accessor(object)
			if err == nil && about.GetAnnotations()["meta.helm.sh/release-name"] == cluster.Release {
				all = append(all, kind+" "+about.GetName())
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

// oldRolesGone wants the permissions of accounts that do no work any more to be gone, and the others to be there.
func (l *lab) oldRolesGone(t *testing.T, before []string) {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(before), func(one string) bool {
		return slices.ContainsFunc([]string{"node-controller", "service-controller", "cloud-provider-thalassa"},
			func(account string) bool {
				return strings.HasSuffix(one, "-"+account)
			})
	})
	if len(before)-len(want) != 6 { // a role and its binding for each
		t.Errorf("the old chart had the permissions %q, want those of three accounts among them", before)
	}
	if got := l.roles(t); !slices.Equal(got, want) {
		t.Errorf("the permissions are %q, want %q of %q", got, want, before)
	}
}
