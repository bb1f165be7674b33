package rbactest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

const (
	leaseName         = "cloud-controller-manager"
	uninitialized     = "node.cloudprovider.kubernetes.io/uninitialized"
	shutdown          = "node.cloudprovider.kubernetes.io/shutdown"
	eventNotDeleted   = "DeletingNodeFailed"
	eventSynced       = "Synced"
	eventReloaded     = "CloudSecretsReloaded"
	eventDrifted      = "LoadBalancerDrifted"
	eventOrphaned     = "LoadBalancerOrphaned"
	eventEnsured      = "EnsuredLoadBalancer"
	eventRestored     = "RouteRestored"
	readerName        = "rbac-test-reader"
	metricsReaderName = "rbac-test-metrics"
)

// scenario is what one program does, with the controllers it has.
type scenario struct {
	*cluster
	t         *testing.T
	pod       *pod
	namespace string // of the Service
	nodes     []string
	machines  []string
	profile   profile
}

// play makes the program use all of its controllers. It is started twice: once without a Lease, once with.
func (s *scenario) play() {
	s.deleteLease()
	s.addNodes()
	stop := s.pod.start(s.t)
	s.leads()
	if s.profile.nodes {
		s.initialised()
		s.again()
		s.relabelled()
	}
	if s.profile.networks {
		s.networked()
	}
	if s.profile.routes {
		s.routed()
	}
	if s.profile.services {
		s.serve()
		s.drift()
		if s.profile.orphans {
			s.orphan()
		}
		s.endService() // which takes seconds, in which other things happen
	}
	s.metrics()
	for i := range s.profile.reload {
		s.reload(i + 1)
	}
	if s.profile.lifecycle {
		s.removeServers()
	}
	if s.profile.services {
		s.serviceGone()
	}
	stop()
	// as with an API server that sends lists, but streams none
	s.pod.env = append(s.pod.env, "KUBE_FEATURE_WatchListClient=false")
	stop = s.pod.start(s.t)
	s.leads()
	s.answers()
	stop()
}

// deleteLease makes this the first start in the cluster.
func (s *scenario) deleteLease() {
	err := s.client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(s.t.Context(), leaseName,
		metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
}

func (s *scenario) leads() {
	s.t.Helper()
	controlplanetest.Eventually(s.t, waitTimeout, "the program leads", func(ctx context.Context) error {
		lease, err := s.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, leaseName, metav1.GetOptions{})
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
			err = errors.New("the Lease has no holder")
		}
		return err
	})
}

// addNodes makes two servers and the Nodes that kubelets on them would register.
func (s *scenario) addNodes() {
	for _, name := range []string{"a", "b"} {
		name = s.namespace + "-" + name
		machine, err := s.cloud.AddMachine(emulator.MachineSpec{Name: name})
		if err != nil {
			s.t.Fatal(err)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if s.profile.nodes {
			node.Spec.Taints = []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		} else {
			node.Spec.ProviderID = "thalassacloud://" + machine // another program sets it then
		}
		if s.profile.routes && !s.profile.networks {
			node.Spec.PodCIDR = fmt.Sprintf("10.244.%d.0/24", len(s.nodes))
			node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
		}
		if _, err := s.client.CoreV1().Nodes().Create(s.t.Context(), node, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.nodes, s.machines = append(s.nodes, name), append(s.machines, machine)
		s.t.Cleanup(func() { s.deleteNode(name) })
	}
}

// deleteNode deletes a Node also when it was protected a moment ago: the API server enforces a deleted policy a bit
// longer.
func (s *scenario) deleteNode(name string) {
	ctx := context.WithoutCancel(s.t.Context())
	controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" is deleted", func(context.Context) error {
		err := s.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

func (s *scenario) initialised() {
	s.t.Helper()
	for _, name := range s.nodes {
		controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" is initialised", func(ctx context.Context) error {
			node, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err == nil && (node.Spec.ProviderID == "" || hasTaint(node, uninitialized) ||
				len(node.Status.Addresses) == 0) {
				err = fmt.Errorf("it has provider ID %q, taints %v, addresses %v", node.Spec.ProviderID,
					node.Spec.Taints, node.Status.Addresses)
			}
			return err
		})
	}
}

// networked waits until Nodes have networks.
func (s *scenario) networked() {
	s.t.Helper()
	for _, name := range s.nodes {
		controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" has a network", func(ctx context.Context) error {
			node, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err == nil && len(node.Spec.PodCIDRs) == 0 {
				err = errors.New("it has none")
			}
			return err
		})
	}
}

// routed waits until Nodes have their routes, and then removes a route by hand, twice, and waits until that is put
// right.
func (s *scenario) routed() {
	s.t.Helper()
	if !s.profile.nodes { // that controller would set their addresses
		for i, name := range s.nodes {
			patch := fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":"10.0.127.%d"}]}}`, i+1)
			if _, err := s.client.CoreV1().Nodes().Patch(s.t.Context(), name, types.StrategicMergePatchType,
				[]byte(patch), metav1.PatchOptions{}, "status"); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for i := range 2 {
		for _, name := range s.nodes {
			s.available(name)
		}
		s.shown()
		s.byHand(s.t, http.MethodPut, "/v1/route-tables/default/routes", `{"routes":[]}`)
		s.event("default", eventRestored, (i+1)*len(s.nodes))
	}
}

// shown waits until the program has read its routes in a list: what no list contained yet may also be missing in the
// next one, and does not count as deleted. The next list contains them, and is processed before another one begins.
func (s *scenario) shown() {
	s.t.Helper()
	const list = "GET /v1/route-tables"
	before := s.cloud.Counters()[list]
	controlplanetest.Eventually(s.t, waitTimeout, "the program lists its routes", func(context.Context) error {
		if more := s.cloud.Counters()[list] - before; more < 2 {
			return fmt.Errorf("it has listed route tables %d times since, want 2", more)
		}
		return nil
	})
}

// available waits until a Node's condition NetworkUnavailable is false.
func (s *scenario) available(name string) {
	s.t.Helper()
	controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" has its routes", func(ctx context.Context) error {
		node, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeNetworkUnavailable && condition.Status == corev1.ConditionFalse {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", node.Status.Conditions)
	})
}

// again taints an initialised Node, as a kubelet does that registers again. The event about it is the same as
// before.
func (s *scenario) again() {
	s.t.Helper()
	patch := `{"spec":{"taints":[{"key":"` + uninitialized + `","value":"true","effect":"NoSchedule"}]}}`
	s.patchNode(s.nodes[0], patch)
	s.initialised()
	s.event("default", eventSynced, len(s.nodes)+1)
}

// relabelled changes a label of a Node, which the program puts right from time to time.
func (s *scenario) relabelled() {
	s.t.Helper()
	s.patchNode(s.nodes[0], `{"metadata":{"labels":{"`+corev1.LabelFailureDomainBetaZone+`":"other-zone"}}}`)
	controlplanetest.Eventually(s.t, waitTimeout, "the label is right again", func(ctx context.Context) error {
		node, err := s.client.CoreV1().Nodes().Get(ctx, s.nodes[0], metav1.GetOptions{})
		if err == nil && node.Labels[corev1.LabelFailureDomainBetaZone] != node.Labels[corev1.LabelTopologyZone] {
			err = fmt.Errorf("labels %v", node.Labels)
		}
		return err
	})
}

func (s *scenario) patchNode(name, patch string) {
	s.t.Helper()
	if _, err := s.client.CoreV1().Nodes().Patch(s.t.Context(), name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// serve makes a Service and changes it.
func (s *scenario) serve() {
	s.t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := s.client.CoreV1().Services(s.namespace).Create(s.t.Context(), service,
		metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.event(s.namespace, eventEnsured, 1)
	for i, port := range []string{"81", "82"} {
		patch := `{"spec":{"ports":[{"port":` + port + `}]}}`
		if _, err := s.client.CoreV1().Services(s.namespace).Patch(s.t.Context(), "web", types.MergePatchType,
			[]byte(patch), metav1.PatchOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.event(s.namespace, eventEnsured, i+2) // the same event again is counted
	}
}

// event waits until an event has been recorded that often.
func (s *scenario) event(namespace, reason string, times int) {
	s.t.Helper()
	controlplanetest.Eventually(s.t, waitTimeout, "there is an event "+reason, func(ctx context.Context) error {
		events, err := s.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		seen, count := []string{}, 0
		for _, event := range events.Items {
			if event.InvolvedObject.Kind == "Node" && !slices.Contains(s.nodes, event.InvolvedObject.Name) {
				continue // of another test
			}
			seen = append(seen, fmt.Sprintf("%d %s: %s", event.Count, event.Reason, event.Message))
			if event.Reason == reason {
				count += int(event.Count)
			}
		}
		if count < times {
			return fmt.Errorf("it was recorded %d times, want %d; events: %s", count, times, strings.Join(seen, "; "))
		}
		return nil
	})
}

// drift deletes a listener by hand, twice, and waits until that is put right.
func (s *scenario) drift() {
	s.t.Helper()
	for i := range 2 {
		controlplanetest.Eventually(s.t, waitTimeout, "the listener is there", func(context.Context) error {
			if balancers := s.cloud.State().LoadBalancers; len(balancers) != 1 || len(balancers[0].Listeners) != 1 {
				return fmt.Errorf("load balancers %+v", balancers)
			}
			return nil
		})
		balancer := s.cloud.State().LoadBalancers[0]
		s.byHand(s.t, http.MethodDelete, "/v1/loadbalancers/"+balancer.Identity+"/listeners/"+
			balancer.Listeners[0].Identity, "")
		s.event(s.namespace, eventDrifted, i+1)
	}
}

// orphan makes a target group by hand with the labels of a Service that does not exist, and waits until it is removed.
func (s *scenario) orphan() {
	s.t.Helper()
	var labels []string
	for name, value := range map[string]string{
		"kubernetes-cluster": "rbac", "cloud-provider-managed": "true", "kubernetes-service-name": "gone",
		"kubernetes-service-namespace": s.namespace,
		"kubernetes-service-uid":       "7a1c0000-0000-4000-8000-000000000001", "kubernetes-service-port": "80",
		"kubernetes-service-protocol": "tcp",
	} {
		labels = append(labels, fmt.Sprintf("%q:%q", "k8s.thalassa.cloud/"+name, value))
	}
	s.byHand(s.t, http.MethodPost, "/v1/loadbalancer-target-groups",
		fmt.Sprintf(`{"name":"gone","vpc":%q,"targetPort":80,"protocol":"tcp","labels":{%s}}`,
			emulator.DefaultVPC, strings.Join(labels, ",")))
	s.event(s.namespace, eventOrphaned, 1)
	controlplanetest.Eventually(s.t, waitTimeout, "the orphan is removed", func(context.Context) error {
		for _, group := range s.cloud.State().TargetGroups {
			if group.Name == "gone" {
				return errors.New("it is still there")
			}
		}
		return nil
	})
}

// metrics reads the metrics as a user who may, and as a user who may not.
func (s *scenario) metrics() {
	s.t.Helper()
	for who, want := range s.readers() {
		controlplanetest.Eventually(s.t, waitTimeout, "clients get metrics", func(ctx context.Context) error {
			status, text, err := readMetrics(ctx, s.pod.listen, who)
			if err == nil && status != want {
				err = fmt.Errorf("status %d, want %d", status, want)
			}
			if err == nil && status == http.StatusOK {
				wantDescribed(s.t, text)
				wantBounded(s.t, text, append(slices.Concat(s.nodes, s.machines), s.namespace)...)
			}
			return err
		})
	}
}

// readers are clients and the status that each gets: with certificates if managed, else with tokens.
func (s *scenario) readers() map[reader]int {
	s.t.Helper()
	if s.profile.managed {
		return map[reader]int{
			{certificate: s.clients.Sign(s.t, "prometheus")}: http.StatusOK,
			{certificate: s.clients.Sign(s.t, "somebody")}:   http.StatusForbidden,
		}
	}
	s.permitReader()
	return map[reader]int{
		{token: s.identity(s.t, "default", readerName).BearerToken}: http.StatusOK,
		{token: s.identity(s.t, "default", "default").BearerToken}:  http.StatusForbidden,
	}
}

func (s *scenario) permitReader() {
	s.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: metricsReaderName},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	_, err := s.client.RbacV1().ClusterRoles().Create(s.t.Context(), role, metav1.CreateOptions{})
	s.tolerate(s.t, err)
	_, err = s.client.RbacV1().ClusterRoleBindings().Create(s.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: metricsReaderName}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName,
			Kind: "ClusterRole", Name: metricsReaderName},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: readerName}},
	}, metav1.CreateOptions{})
	s.tolerate(s.t, err)
}

// answers waits until the HTTPS port has an answer.
func (s *scenario) answers() {
	s.t.Helper()
	var who reader
	if !s.profile.managed {
		who.token = "nonsense"
	}
	controlplanetest.Eventually(s.t, waitTimeout, "the HTTPS port answers", func(ctx context.Context) error {
		_, _, err := readMetrics(ctx, s.pod.listen, who)
		return err
	})
}

// reload changes the credentials, as a Secret that is rotated does, and waits until an event has reported that so
// often.
func (s *scenario) reload(times int) {
	s.t.Helper()
	secret := fmt.Sprintf("client-secret-%d", times)
	if err := s.cloud.SetClientSecret(emulator.DefaultClientID, secret); err != nil {
		s.t.Fatal(err)
	}
	s.pod.write(s.t, s.pod.mount("credentials"), map[string]string{"clientSecret": secret})
	s.event(metav1.NamespaceSystem, eventReloaded, times)
}

func (s *scenario) endService() {
	s.t.Helper()
	if err := s.client.CoreV1().Services(s.namespace).Delete(s.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scenario) serviceGone() {
	s.t.Helper()
	controlplanetest.Eventually(s.t, waitTimeout, "the Service has gone", func(ctx context.Context) error {
		_, err := s.client.CoreV1().Services(s.namespace).Get(ctx, "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, or not to be read: %w", err)
	})
}

// protect makes the API server refuse to delete the Node until release is called.
func (s *scenario) protect(name string) (release func()) {
	s.t.Helper()
	admission, rule := s.client.AdmissionregistrationV1(), "protect-"+name
	_, err := admission.ValidatingAdmissionPolicies().Create(s.t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: rule},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames: []string{name},
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Delete},
					Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
						Resources: []string{"nodes"}}},
			}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "not yet"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(s.t.Context(),
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: rule},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: rule,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		ctx := context.WithoutCancel(s.t.Context())
		err := errors.Join(admission.ValidatingAdmissionPolicyBindings().Delete(ctx, rule, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, rule, metav1.DeleteOptions{}))
		if err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(release)
	controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" is protected", func(ctx context.Context) error {
		err := s.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case apierrors.IsInvalid(err):
			return nil
		case err == nil:
			return errors.New("its deletion is not refused")
		}
		return err
	})
	return release
}

// reports writes the condition Ready of a Node, as its kubelet or kube-controller-manager does.
func (s *scenario) reports(name string, ready corev1.ConditionStatus) {
	s.t.Helper()
	patch := fmt.Sprintf(
		`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test","lastHeartbeatTime":%q}]}}`, ready,
		time.Now().UTC().Format(time.RFC3339))
	if _, err := s.client.CoreV1().Nodes().Patch(s.t.Context(), name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status"); err != nil {
		s.t.Fatal(err)
	}
}

// removeServers switches the second server off and then deletes it. Its Node is protected, and ready in between: so the
// same event is recorded twice.
func (s *scenario) removeServers() {
	s.t.Helper()
	nodes, name := s.client.CoreV1().Nodes(), s.nodes[1]
	if err := s.cloud.StopMachine(s.machines[1]); err != nil {
		s.t.Fatal(err)
	}
	controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" counts as shut down", func(ctx context.Context) error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err == nil && !hasTaint(node, shutdown) {
			err = fmt.Errorf("it has taints %v", node.Spec.Taints)
		}
		return err
	})
	release := s.protect(name)
	if err := s.cloud.DeleteMachine(s.machines[1]); err != nil {
		s.t.Fatal(err)
	}
	s.event("default", eventNotDeleted, 1)
	controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" counts as living", func(ctx context.Context) error {
		// again and again, because kube-controller-manager misses the kubelet's lease
		s.reports(name, corev1.ConditionTrue)
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err == nil && hasTaint(node, shutdown) {
			err = errors.New("it has the taint of one that is shut down")
		}
		return err
	})
	s.reports(name, corev1.ConditionUnknown)
	s.event("default", eventNotDeleted, 2)
	release()
	controlplanetest.Eventually(s.t, waitTimeout, "node "+name+" has gone", func(ctx context.Context) error {
		_, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, or not to be read: %w", err)
	})
}
