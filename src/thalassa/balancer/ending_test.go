package balancer

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// TestEndings: what is deleted with a Service, what stays, and who gets it. TestAnnotations has the lives of protection
// and adoption.
func TestEndings(t *testing.T) {
	for _, l := range append(livesThatEnd(), livesOfOthers()...) {
		t.Run(l.name, l.run)
	}
}

func livesOfProtection() []life {
	return []life{
		{name: "delete protection", steps: []step{
			{ask: "delete-protection=true", want: "update load balancer web: delete protection false becomes true"},
			{ask: "delete-protection=perhaps", want: `
InvalidAnnotation: annotation delete-protection: "perhaps" is not true or false`},
			{ask: "delete-protection=true", end: true, want: `
refused: load balancer web is protected from deletion by an annotation of the Service: set …`},
			{ask: "delete-protection=false", want: `
update load balancer web: delete protection true becomes false, the delete-protection is no longer managed by
  this Service`},
			{ask: "delete-protection=true", want: "update load balancer web: delete protection false becomes true"},
			{ask: "", want: `
update load balancer web: delete protection true becomes false, the delete-protection is no longer managed by
  this Service`},
		}},
		{name: "delete protection by hand", keeps: true, steps: []step{
			{hand: protect},
			{end: true, want: `
refused: load balancer web is protected from deletion in the cloud: switch the protection off there, or …`},
			{ask: "delete-protection=false", end: true, want: `
update load balancer web: its protection from deletion is switched off
delete load balancer web`},
		}},
		{name: "deletion policy", steps: []step{
			{ask: "on-delete=keep", want: "update load balancer web: on-delete: delete becomes keep"},
			{ask: "on-delete=kepe", want: `
InvalidAnnotation: annotation on-delete: "kepe" is not one of delete, keep`},
			{ask: "on-delete=kepe", end: true, want: `
refused: annotation on-delete is not valid, so nothing is deleted yet: set it to delete or keep, or …`},
			{ask: "on-delete=delete", want: "update load balancer web: on-delete: keep becomes delete"},
			{ask: "on-delete=keep create-security-group=true", want: `
create security group own
update load balancer web: it gets the security groups of the Service
update load balancer web: on-delete: delete becomes keep`},
			{ask: "on-delete=keep create-security-group=true", end: true, want: `
update load balancer web: it is handed over
update target group web-p443: it is handed over
update target group web-p80: it is handed over
update security group own: it is handed over
retains: As on-delete requests, the objects of this Service remain in the cloud, and no Service owns …`},
		}},
	}
}

func livesThatEnd() []life {
	return []life{
		{name: "deletion", steps: []step{
			{ask: "create-security-group=true delete-protection=true", want: `
create security group own
update load balancer web: it gets the security groups of the Service
update load balancer web: delete protection false becomes true`},
			{ask: "create-security-group=true delete-protection=false", end: true, want: `
update load balancer web: its protection from deletion is switched off
delete load balancer web`},
			{ask: "create-security-group=true delete-protection=false", end: true, want: `
delete target group web-p443
delete target group web-p80
delete security group own`},
		}},
		{name: "a target group that others use", steps: []step{
			{end: true, hand: func(w *world) {
				w.balancers = append(w.balancers, resource.LoadBalancer{ID: "lb-theirs", Name: "theirs",
					Listeners: []resource.Listener{{ID: "theirs", TargetGroup: "tg-a0a1b2c3dweb-p80"}}})
			}, want: `delete load balancer web`},
		}},
		{name: "nothing to keep", steps: []step{
			{ask: "on-delete=keep", end: true, hand: func(w *world) { w.balancers = nil; w.recount() }, want: `
delete target group web-p443
delete target group web-p80`},
		}},
		{name: "an orphan that is protected", keeps: true, steps: []step{
			{ask: "delete-protection=true", want: "update load balancer web: delete protection false becomes true"},
			{end: true, spec: func(s *corev1.Service) { s.Spec.Ports = nil }, want: `
refused: load balancer web is protected from deletion in the cloud: switch the protection off there, or …`},
		}},
		{name: "one of two is protected", keeps: true, steps: []step{
			{end: true, hand: func(w *world) {
				younger := w.balancers[0]
				younger.ID, younger.DeleteProtection, younger.Listeners = "lb-2", true, nil
				w.balancers = append(w.balancers, younger)
			}, want: `
refused: load balancer web is protected from deletion in the cloud: switch the protection off there, …`},
		}},
		{name: "a protection that the Service takes back", keeps: true, steps: []step{
			{ask: "delete-protection=true", want: "update load balancer web: delete protection false becomes true"},
			{end: true, want: `
update load balancer web: its protection from deletion is switched off
delete load balancer web`},
		}},
	}
}

func livesOfAdoption() []life {
	return []life{
		{name: "adoption", new: true, keeps: true, steps: []step{
			{ask: "adopt=lb-unknown", want: `
refused: annotation adopt: VPC vpc-1 has no load balancer "lb-unknown"; give the identity of one, or …`},
			{ask: "adopt=lb-theirs", hand: theirs, want: `
refused: annotation adopt: load balancer lb-theirs does not say that it may be adopted; give it the …`},
			{ask: "adopt=lb-theirs", hand: adoptable, want: "update load balancer theirs: it is adopted"},
			{ask: "adopt=lb-theirs max-connections=7", want: `
update target group theirs: 0 machines become 3
update target group theirs: labels of the Service are missing
create target group web-p443
update target group web-p443: 0 machines become 3
update listener theirs: connection limit 77 becomes 7, labels of the Service are missing
create listener web-p443
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
			{ask: "adopt=lb-theirs", want: `
update listener theirs: connection limit 7 becomes 10000, the max-connections is no longer managed by this
  Service
update listener web-p443: connection limit 7 becomes 10000
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
			{ask: "adopt=lb-other", want: `
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …
ImmutableSetting: Annotation adopt names lb-other, but this Service already has load balancer …`},
			{ask: "adopt=a,b", want: `
InvalidAnnotation: annotation adopt: "a,b" is not the identity of a load balancer in the cluster's VPC, …
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
			{ask: "", end: true, want: "delete load balancer theirs"},
		}},
		{name: "kept and adopted", keeps: true, steps: []step{
			{ask: "acl-allowed-sources=10.0.0.0/8 reserved-ip=one", want: `
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)
update load balancer web: reserved IP none becomes rip-one`},
			{ask: "on-delete=keep acl-allowed-sources=10.0.0.0/8 reserved-ip=one", end: true, want: `
update load balancer web: it is handed over
update target group web-p443: it is handed over
update target group web-p80: it is handed over
retains: As on-delete requests, the objects of this Service remain in the cloud, and no Service owns …`},
			{ask: "adopt=lb-1 reserved-ip=one", spec: second("80:31080 8443"), want: `
refused: annotation adopt: load balancer lb-1 does not say that it may be adopted; give it the …`},
			{ask: "adopt=lb-1 reserved-ip=one", hand: adoptable, spec: second("80:31080 8443"), want: `
update load balancer web: it is adopted`},
			{ask: "adopt=lb-1 reserved-ip=one", spec: second("80:31080 8443"), want: `
update target group web-p80: target port 30080 becomes 31080, health check tcp :30080/healthz becomes tcp
  :31080/healthz, labels of the Service are missing
create target group second-p8443
update target group second-p8443: 0 machines become 3
update listener web-p80: labels of the Service are missing, the allowed-sources is no longer managed by this
  Service
create listener second-p8443
delete listener web-p443: the Service has no such port (closes)
delete target group web-p443: the Service has no such port
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
			{ask: "adopt=lb-1 max-connections=5 loadbalancing-policy=RANDOM", spec: second("80:31080 8443"), want: `
update target group web-p80: policy ROUND_ROBIN becomes RANDOM
update target group second-p8443: policy ROUND_ROBIN becomes RANDOM
update listener web-p80: connection limit 10000 becomes 5
update listener second-p8443: connection limit 10000 becomes 5
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
			{ask: "adopt=lb-1", spec: second("80:31080 8443"), want: `
update target group web-p80: policy RANDOM becomes ROUND_ROBIN, the loadbalancing-policy is no longer
  managed by this Service
update target group second-p8443: policy RANDOM becomes ROUND_ROBIN
update listener web-p80: connection limit 5 becomes 10000, the max-connections is no longer managed by this
  Service
update listener second-p8443: connection limit 5 becomes 10000
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
			{ask: "adopt=lb-1", end: true, spec: second("80:31080 8443"), want: "delete load balancer web"},
			{ask: "adopt=lb-1", end: true, spec: second("80:31080 8443"), want: `
delete target group second-p8443
delete target group web-p80`},
		}},
	}
}

// livesOfOthers are about objects that belong to others, or did until they were adopted.
func livesOfOthers() []life {
	return []life{
		{name: "adopted from Local to Cluster", keeps: true, steps: []step{
			{spec: policyLocal, want: `
update target group web-p80: health check tcp :30080/healthz becomes http :32000/healthz
update target group web-p443: health check tcp :30443/healthz becomes http :32000/healthz`},
			{ask: "on-delete=keep", spec: policyLocal, end: true, want: `
update load balancer web: it is handed over
update target group web-p443: it is handed over
update target group web-p80: it is handed over
retains: As on-delete requests, the objects of this Service remain in the cloud, and no Service owns …`},
			{ask: "adopt=lb-1", hand: adoptable, spec: secondLocal, want: "update load balancer web: it is adopted"},
			{ask: "adopt=lb-1", spec: secondLocal, want: `
update target group web-p80: labels of the Service are missing
update target group web-p443: labels of the Service are missing
update listener web-p80: labels of the Service are missing
update listener web-p443: labels of the Service are missing`},
			{ask: "adopt=lb-1", spec: second("80 443"), want: `
update target group web-p80: health check http :32000/healthz becomes none, the health-check is no longer managed by
  this Service
update target group web-p443: health check http :32000/healthz becomes none, the health-check is no longer managed by
  this Service`},
		}},
		{name: "adopted and deleted at once", keeps: true, steps: []step{
			{ask: "on-delete=keep", end: true, want: `
update load balancer web: it is handed over
update target group web-p443: it is handed over
update target group web-p80: it is handed over
retains: As on-delete requests, the objects of this Service remain in the cloud, and no Service owns …`},
			{ask: "adopt=lb-1", hand: adoptable, spec: second("80"), want: "update load balancer web: it is adopted"},
			{ask: "adopt=lb-1", end: true, spec: second("80"), want: `
update target group web-p443: it lost labels of the Service, which is being removed
update target group web-p80: it lost labels of the Service, which is being removed
delete load balancer web`},
			{ask: "adopt=lb-1", end: true, spec: second("80"), want: `
delete target group web-p443
delete target group web-p80`},
		}},
		{name: "adopted with one target group for two ports", new: true, keeps: true, steps: []step{
			{ask: "adopt=lb-theirs", hand: twoPorts, want: "update load balancer theirs: it is adopted"},
			{ask: "adopt=lb-theirs", want: `
update target group theirs: 0 machines become 3
update target group theirs: labels of the Service are missing
create target group web-p443
update target group web-p443: 0 machines become 3
update listener theirs: labels of the Service are missing
update listener theirs: labels of the Service are missing, its target group becomes web-p443
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …
AllowedSourcesKept: Port 443/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
		}},
		{name: "a target group that others use is not adopted", new: true, keeps: true, steps: []step{
			{ask: "adopt=lb-theirs", hand: shared, spec: second("80"), want: `
update load balancer theirs: it is adopted`},
			{ask: "adopt=lb-theirs", spec: second("80"), want: `
create target group second-p80
update target group second-p80: 0 machines become 3
update listener theirs: labels of the Service are missing, its target group becomes second-p80
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
		}},
		{name: "objects of another Service", keeps: true, steps: []step{
			{ask: "reserved-ip=one", want: "update load balancer web: reserved IP none becomes rip-one"},
			{ask: "adopt=lb-1", spec: second("80"), want: `
refused: annotation adopt: load balancer lb-1 belongs to Service shop/web of cluster k8s-test; make …`},
			{ask: "reserved-ip=one", spec: second("80"), want: `
refused: Annotation reserved-ip: reserved IP rip-one (203.0.113.1) is attached to lb-1. Detach it …
ReservedIPInUse: Annotation reserved-ip: reserved IP rip-one (203.0.113.1) is attached to lb-1. Detach …`},
			{spec: second("80"), want: `
create target group second-p80
update target group second-p80: 0 machines become 3
create load balancer second`},
			{ask: "adopt=lb-1 reserved-ip=one", spec: second("80"), want: `
ReservedIPInUse: Annotation reserved-ip: reserved IP rip-one (203.0.113.1) is attached to lb-1. Detach …
ImmutableSetting: Annotation adopt names lb-1, but this Service already has load balancer lb-2, which …`},
		}},
	}
}

// second makes another Service of it, with these ports.
func second(text string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Name, s.UID = "second", "0a1b2c3d-second"
		ports(text)(s)
	}
}

// secondLocal is second with the policy Local.
func secondLocal(s *corev1.Service) {
	second("80 443")(s)
	policyLocal(s)
}

// protect protects the load balancer from deletion.
func protect(w *world) { w.balancers[0].DeleteProtection = true }

// theirs adds a load balancer of somebody else, with one of the Service's ports and another one.
func theirs(w *world) {
	listener := func(port int) resource.Listener {
		return resource.Listener{ID: fmt.Sprintf("%d/tcp", port), Name: "theirs", Protocol: "tcp", Port: port,
			TargetGroup: "tg-theirs", MaxConnections: 77, AllowedSources: []string{"10.0.0.0/8"}}
	}
	w.groups = append(w.groups, resource.TargetGroup{ID: "tg-theirs", Name: "theirs", Protocol: "tcp", Port: 30080,
		Policy: "RANDOM", HealthCheck: &resource.HealthCheck{Protocol: "http", Port: 9000, Path: "/slow",
			PeriodSeconds: 60, TimeoutSeconds: 30, HealthyThreshold: 7, UnhealthyThreshold: 8}})
	w.balancers = append(w.balancers, resource.LoadBalancer{ID: "lb-theirs", Name: "theirs", Status: "ready",
		Subnet: "subnet-2", ExternalAddresses: []string{"198.18.0.9"}, Listeners: []resource.Listener{listener(80)}})
}

// twoPorts is theirs, with a listener of another port that uses the same target group.
func twoPorts(w *world) {
	theirs(w)
	adoptable(w)
	listeners := slices.Clone(w.balancers[0].Listeners)
	other := listeners[0]
	other.ID, other.Port = "443/tcp", 443
	w.balancers[0].Listeners = append(listeners, other)
	w.recount()
}

// shared is theirs, with a target group that another load balancer also uses.
func shared(w *world) {
	theirs(w)
	other := w.balancers[0]
	other.ID = "lb-other"
	other.Listeners = slices.Clone(other.Listeners)
	other.Listeners[0].ID = "other"
	w.balancers = append(w.balancers, other)
	w.recount()
	w.balancers[0].Annotations = resource.Labels{annotationAdoptable: "k8s-test/shop/second"}
}

// adoptable permits the Service to adopt it.
func adoptable(w *world) {
	w.balancers[0].Annotations = resource.Labels{annotationAdoptable: "k8s-test/shop/web"}
	if w.made > 0 { // it was ours
		w.balancers[0].Annotations[annotationAdoptable] = "k8s-test/shop/second"
	}
}

// TestAdoptedInternal: an internal load balancer that is adopted serves at the address that it has.
func TestAdoptedInternal(t *testing.T) {
	w, web := newWorld(nil), asking(step{ask: "adopt=lb-theirs"})
	theirs(&w)
	adoptable(&w)
	w.balancers[0].ExternalAddresses, w.balancers[0].InternalAddresses = nil, []string{"10.0.0.9"}
	w.settle(t, web, w.compare)
	if got := addressesOf(w.compare(web)); got != "10.0.0.9" {
		t.Errorf("publishes %q, want 10.0.0.9", got)
	}
}
