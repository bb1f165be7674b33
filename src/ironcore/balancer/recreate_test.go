package balancer

import (
	"strings"
	"testing"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestRecreated: what the network of IronCore does not change in a load balancer that exists is a deletion with its
// reason, and a notice if an address is lost. The next plan creates the load balancer again.
func TestRecreated(t *testing.T) {
	const later = ", which needs another load balancer: it is created when this one is gone"
	dual := func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
	for title, tt := range map[string]struct {
		before, now *corev1.Service
		address     string
		plan        string
		notices     int
	}{
		"becomes internal": {service(), service(internal("true")), "192.0.2.1",
			"delete LoadBalancer 0a1b2c3d: type Public becomes Internal" + later, 1},
		"becomes public": {service(internal("true")), service(), "10.250.0.1",
			"delete LoadBalancer 0a1b2c3d: type Internal becomes Public" + later, 1},
		"becomes public before its first address": {service(internal("true")), service(), "",
			"delete LoadBalancer 0a1b2c3d: type Internal becomes Public" + later, 0},
		"another address before the first one": {service(internal("true"), setAddress("10.9.9.9")),
			service(internal("true"), setAddress("10.250.0.9")), "", "delete LoadBalancer 0a1b2c3d: " +
				"ips [10.9.9.9 of internal] becomes [10.250.0.9 of internal]" + later, 0},
		"another IP family": {service(internal("true")), service(internal("true"), dual), "10.250.0.1",
			"update LoadBalancer 0a1b2c3d: ipFamilies [IPv4] becomes [IPv4 IPv6], ips [IPv4 of internal] becomes " +
				"[IPv4 of internal, IPv6 of internal6]", 0},
	} {
		t.Run(title, func(t *testing.T) {
			balancer := owned(name, "blue")
			balancer.Spec = applied(t, compare(t, config(), Request{Service: tt.before, Observed: none()}))
			if tt.address != "" {
				balancer.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.MustParseIP(tt.address)}
			}
			request := Request{Service: tt.now, Targets: nodes("a"), Observed: observed(balancer, "a", "a")}
			found := compare(t, config(), request)
			want(t, "refusal", found.Refused, nil)
			want(t, "plan", found.Plan.String(), tt.plan)
			want(t, "notices", len(found.Notices), tt.notices)
			for _, notice := range found.Notices {
				want(t, "reason", notice.Reason, "ImmutableSetting")
				wantText(t, "notice", notice.Message, "created again with another address", "Update DNS")
			}
			balancer.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			found = compare(t, config(), request)
			want(t, "plan while it is deleted", found.Plan.String(), "")
			want(t, "notices while it is deleted", len(found.Notices), tt.notices)
		})
	}
}

// TestPublicBefore: a load balancer that the former program has made public, because it takes only "true" for true, is
// not deleted when this one takes over.
func TestPublicBefore(t *testing.T) {
	for value, deleted := range map[string]bool{"True": false, "1": false, "true": true} {
		balancer := owned(name, "blue")
		balancer.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: label.FormerFieldManager,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:type":{}}}`)}}
		balancer.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.MustParseIP("192.0.2.1")}
		found := compare(t, config(), Request{Service: service(internal(value)), Targets: nodes("a"),
			Observed: observed(balancer, "a", "a")})
		want(t, "deletion with "+value, strings.HasPrefix(found.Plan.String(), "delete"), deleted)
		want(t, "notices with "+value, len(found.Notices), 1)
		wantText(t, "notice with "+value, found.Notices[0].Message, "another address")
	}
}

// TestAddressThatIsNotShown: an address that the Service has published is in use, also while IronCore shows none.
func TestAddressThatIsNotShown(t *testing.T) {
	balancer := owned(name, "blue")
	balancer.Spec = applied(t, compare(t, config(), Request{Service: service(internal("true")), Observed: none()}))
	wanted := service(internal("true"), setAddress("10.250.0.9"))
	wanted.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.250.0.1"}}
	found := compare(t, config(), Request{Service: wanted, Targets: nodes("a"),
		Observed: observed(balancer, "a", "a")})
	want(t, "plan", found.Plan.String(), "")
	wantText(t, "notice", found.Notices[0].Message, "spec.loadBalancerIP is not applied")
}

// TestRoutingOfAnotherLoadBalancer: the routing of a load balancer that is gone is deleted before one with the new
// owner is created, because an object has one controller.
func TestRoutingOfAnotherLoadBalancer(t *testing.T) {
	o := observed(owned(name, "blue"), "a", "a")
	yes := true
	o.Routings[name].OwnerReferences = []metav1.OwnerReference{{UID: "former", Controller: &yes}}
	o.LoadBalancers = nil
	found := compare(t, config(), Request{Service: service(), Targets: nodes("a"), Observed: o})
	wantText(t, "plan", found.Plan.String(), "create LoadBalancer", "delete LoadBalancerRouting")
}

// TestTypeThatSomebodySet: the type that another field manager has set in IronCore costs no address: nothing is
// deleted.
func TestTypeThatSomebodySet(t *testing.T) {
	balancer := owned(name, "blue")
	balancer.Spec.Type = networkingv1alpha1.LoadBalancerTypeInternal
	balancer.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-edit",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:type":{}}}`)}}
	found := compare(t, config(), Request{Service: service(), Targets: nodes("a"),
		Observed: observed(balancer, "a", "a")})
	want(t, "plan", found.Plan.String(), "")
	wantText(t, "refusal", found.Refused.Error(), "spec.type", "kubectl-edit")
}

// TestAddressOfEachFamily: an internal load balancer is ready when it has an address of each IP family.
func TestAddressOfEachFamily(t *testing.T) {
	both := service(internal("true"), func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	})
	balancer := owned(name, "blue")
	balancer.Spec = applied(t, compare(t, config(), Request{Service: both, Observed: none()}))
	balancer.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.MustParseIP("10.250.0.1")}
	request := Request{Service: both, Targets: nodes("a"), Observed: observed(balancer, "a", "a")}
	found := compare(t, config(), request)
	if found.Wait == nil {
		t.Fatal("there is nothing to wait for")
	}
	wantText(t, "message", found.Wait.Message, "only [10.250.0.1]", "[IPv4 IPv6]")
	balancer.Status.IPs = append(balancer.Status.IPs, commonv1alpha1.MustParseIP("fd00:250::1"))
	found = compare(t, config(), request)
	want(t, "has to be waited for", found.Wait != nil, false)
	want(t, "addresses", len(found.Balancer.Status.Ingress), 2)
}
