package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// healthy makes the cluster one without problems: Nodes are ready, and a process is the leader. Allowed answers access
// reviews.
func (r *rig) healthy(allowed func(authorizationv1.SubjectAccessReviewSpec) bool) {
	r.Helper()
	r.ready(corev1.ConditionTrue, "a", "b")
	r.kubernetes("v1.37.1")
	r.cluster.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object,
		error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		review.Status.Allowed = allowed(review.Spec)
		return true, review, nil
	})
	r.lease("thalassa-ccm-x_1", time.Now())
}

func everything(authorizationv1.SubjectAccessReviewSpec) bool { return true }

// kubernetes sets the version of Kubernetes.
func (r *rig) kubernetes(is string) {
	r.cluster.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: is}
}

// lease sets the leader.
func (r *rig) lease(holder string, renewed time.Time) {
	r.Helper()
	leases, seconds, at := r.cluster.CoordinationV1().Leases("kube-system"), int32(15), metav1.NewMicroTime(renewed)
	_ = leases.Delete(r.Context(), "cloud-controller-manager", metav1.DeleteOptions{}) // there may be none
	if _, err := leases.Create(r.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &at},
	}, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// doctor returns the checks of the command, and its exit code.
func (r *rig) doctor(args ...string) (checks []plugin.Check, code int) {
	r.Helper()
	got := r.run(append([]string{"doctor", "-o", "json"}, args...)...)
	var found plugin.Doctor
	decoder := json.NewDecoder(strings.NewReader(got.out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&found); err != nil {
		r.Fatalf("%v: %s%s", err, got.out, got.err)
	}
	return found.Checks, got.code
}

// requireCheck checks that there is a result, and what its message contains.
func (r *rig) requireCheck(checks []plugin.Check, id string, status plugin.CheckStatus, part string) {
	r.Helper()
	if !slices.ContainsFunc(checks, func(one plugin.Check) bool {
		return one.ID == id && one.Status == status && strings.Contains(one.Object+": "+one.Message+" "+one.Next, part)
	}) {
		r.Errorf("no check %s is %s with %q: %+v", id, status, part, checks)
	}
}

// TestDoctor: without problems, the exit code is 0, and nothing is written.
func TestDoctor(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	r.reconcile()
	r.healthy(everything)
	r.wrote()
	shown := r.run("doctor")
	want(r, "exit code", shown.code, 0)
	want(r, "errors", shown.err, "")
	wantText(r, "the checks", shown.out, "Cluster\n", "  OK           The API server answers.\n",
		"Kubernetes has version v1.37.1.", "Deployment kube-system/thalassa-ccm runs", "1 of 1 pod ready.",
		"cloud-config.yaml is valid", "service-lb-controller: It is enabled.", "The leader is thalassa-ccm-x_1",
		"read load balancers: It is permitted.", "  Not checked  write load balancers", "2 Nodes, 2 ready, 0 with "+
			"problems.",
		"system:serviceaccount:kube-system:thalassa-ccm: It may do everything", "1 Service with a load balancer, 1 in "+
			"sync.",
		"Everything of this cluster in the cloud belongs to a Service, or is retained.", "\n0 problems, 0 warnings, ")
	want(r, "a Service in sync is shown", strings.Contains(shown.out, "service/shop/web"), false)
	wantText(r, "with -o wide", r.run("doctor", "-o", "wide").out, "service/shop/web: It is in sync: ready, "+
		"198.18.0.2, 2 targets. ")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	checks, _ := r.doctor()
	ids := []string{}
	for _, one := range checks {
		if !slices.Contains(ids, one.ID) {
			ids = append(ids, one.ID)
		}
	}
	want(r, "the IDs of checks, which do not change", strings.Join(ids, " "), "kubernetes kubernetes-version workload "+
		"workload-pods workload-version configuration controller lease cloud-access permissions nodes services "+
		"service cluster-uid orphans orphaned-storage csi")
}

// TestDoctorFindsProblems: each problem has its check, and the exit code is 1.
func TestDoctorFindsProblems(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	r.addService("old")
	r.reconcile()
	r.healthy(func(review authorizationv1.SubjectAccessReviewSpec) bool {
		return review.ResourceAttributes.Resource != "services" || review.ResourceAttributes.Subresource != "status"
	})
	r.addUnknownNode("lost")
	r.lease("thalassa-ccm-x_1", time.Now().Add(-time.Hour))
	r.kubernetes("v1.29.0")
	r.changeService("web", func(s *corev1.Service) {
		s.Spec.Ports[0].NodePort = 30081
		s.Annotations = map[string]string{"loadbalancer.k8s.thalassa.cloud/max-connection": "5"}
	})
	if err := r.cluster.CoreV1().Services("shop").Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.event("web", "SyncLoadBalancerFailed", "the cloud is busy")
	checks, code := r.doctor()
	want(r, "exit code", code, 1)
	for _, one := range checks {
		want(r, one.ID+" of "+one.Object+" has a next step", one.Status != plugin.CheckProblem || one.Next != "", true)
	}
	r.requireCheck(checks, "service", plugin.CheckWarning, "docs/events/InvalidAnnotation.md")
	r.requireCheck(checks, "kubernetes-version", plugin.CheckWarning, "v1.29.0")
	r.requireCheck(checks, "lease", plugin.CheckProblem, "the last time was 1h0m")
	r.requireCheck(checks, "permissions", plugin.CheckProblem, "thalassa-ccm: It may not patch services/status.")
	r.requireCheck(checks, "node", plugin.CheckProblem, "node/lost: MachineNotFound: ")
	r.requireCheck(checks, "service", plugin.CheckWarning, "service/shop/web: 1 write to the cloud would bring it in "+
		"line. The latest event is SyncLoadBalancerFailed: the cloud is busy See kubectl thalassa plan -n shop web.")
	r.requireCheck(checks, "service", plugin.CheckWarning, "service/shop/web: InvalidAnnotation: ")
	r.requireCheck(checks, "orphans", plugin.CheckWarning, "objects of 1 Service that")
	want(r, "names", r.run("doctor", "-o", "name").out, "system:serviceaccount:kube-system:thalassa-ccm\nnode/lost\n")
}

// TestDoctorWide: a text about several objects is one line, and with -o wide one for each object.
func TestDoctorWide(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r.addService(name)
	}
	r.reconcile()
	r.healthy(everything)
	r.addUnknownNode("lost")
	const reason = ": NodesLeftOut: "
	got, wide := r.run("doctor").out, r.run("doctor", "-o", "wide").out
	wantText(r, "the checks", got,
		"service/shop/a, service/shop/b, service/shop/c and 2 more (-o wide names all)"+reason)
	want(r, "lines", strings.Count(got, reason), 1)
	want(r, "lines with -o wide", strings.Count(wide, reason), 5)
	wantText(r, "the checks with -o wide", wide, "service/shop/a"+reason, "service/shop/e"+reason)
	// A warning does not mean that the cloud disagrees. The command top shows the same.
	wantText(r, "the count", got, "5 Services with a load balancer, 5 in sync.")
	want(r, "Services in sync with -o wide", strings.Count(wide, "It is in sync: "), 5)
	want(r, "lines of top", strings.Count(r.run("top").out, " yes "), 5)
	want(r, "the summaries differ", got[strings.LastIndex(got, "\n\n"):], wide[strings.LastIndex(wide, "\n\n"):])
}

// event records a warning about a Service in the namespace shop.
func (r *rig) event(service, reason, message string) {
	r.Helper()
	if _, err := r.cluster.CoreV1().Events("shop").Create(r.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: service + ".1"}, Type: corev1.EventTypeWarning, Reason: reason,
		Message:        message,
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: service}},
		metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// TestDoctorWithoutAnswers: what cannot be checked is said, with the reason, and does not stop the other checks.
func TestDoctorWithoutAnswers(t *testing.T) {
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("not in this test"))
	}
	for name, test := range map[string]struct {
		refuse func(*rig)
		id     string
		status plugin.CheckStatus
		part   string
		code   int
	}{
		"reviews": {func(r *rig) { r.refuse("create", "subjectaccessreviews", forbidden("subjectaccessreviews")) },
			"permissions", plugin.NotChecked, "Ask for the permission to create subjectaccessreviews.", 0},
		"the Lease": {func(r *rig) { r.refuse("get", "leases", forbidden("leases")) }, "lease", plugin.NotChecked,
			"cannot be read", 0},
		"the Secret": {func(r *rig) { r.refuse("get", "secrets", forbidden("secrets")) }, "configuration",
			plugin.NotChecked, "Ask for the permission to get it", 3},
		"Nodes": {func(r *rig) { r.refuse("list", "nodes", forbidden("nodes")) }, "nodes", plugin.NotChecked,
			"reading from Kubernetes", 0},
		"the cloud": {func(r *rig) {
			if _, err := r.cloud.Inject(fault.Rule{Operation: "GET /v1/machines",
				Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
				r.Fatal(err)
			}
		}, "cloud-access", plugin.CheckProblem, "read machines: ", 1},
		"optional parts of the cloud": {func(r *rig) {
			if _, err := r.cloud.Inject(fault.Rule{Operation: "GET /v1/route-tables",
				Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
				r.Fatal(err)
			}
		}, "cloud-access", plugin.CheckWarning, "Only routes need it.", 0},
		"the cluster": {func(r *rig) { r.refuse("get", "version", errors.New("connection refused")) }, "kubernetes",
			plugin.CheckProblem, "The API server does not answer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.healthy(everything)
			test.refuse(r)
			checks, code := r.doctor()
			r.requireCheck(checks, test.id, test.status, test.part)
			want(r, "exit code", code, test.code)
			sections := map[string]bool{}
			for _, one := range checks {
				sections[one.Section] = true
			}
			want(r, "sections", len(sections), 8)
		})
	}
}

// TestDoctorWithSilentServer: --timeout ends the first request, too.
func TestDoctorWithSilentServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		<-request.Context().Done()
	}))
	defer server.Close()
	r := newRig(t)
	r.byKubeconfig = true
	got := r.run("doctor", "--timeout=100ms", "--server="+server.URL)
	wantText(r, "the check", got.out, "The API server does not answer: ", "not finished after --timeout=100ms")
	want(r, "exit code", got.code, 1)
}

// refuse answers requests with an error.
func (r *rig) refuse(verb, resource string, err error) {
	r.cluster.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, err
	})
}

// TestDoctorOfTheWorkload: whether it exists, and whether its pods run.
func TestDoctorOfTheWorkload(t *testing.T) {
	r := newRig(t)
	r.healthy(everything)
	deployments := r.cluster.AppsV1().Deployments("kube-system")
	one, err := deployments.Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one.Status.ReadyReplicas = 0
	if _, err := deployments.Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.cluster.CoreV1().Pods("kube-system").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ccm-1", Labels: map[string]string{"app": "ccm"}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s."}}}}}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	checks, _ := r.doctor()
	r.requireCheck(checks, "workload-pods", plugin.CheckProblem, "0 of 1 pod ready. Pod ccm-1: CrashLoopBackOff, "+
		"back-off 5m0s.")
	r.build.Version = "0.2.0"
	checks, _ = r.doctor()
	r.requireCheck(checks, "workload-version", plugin.CheckWarning, "Use the plug-in of version 0.1.0.")
	if err := deployments.Delete(t.Context(), "thalassa-ccm", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	checks, code := r.doctor()
	want(r, "exit code without a workload", code, 1)
	r.requireCheck(checks, "workload", plugin.CheckProblem, "No cloud controller manager was found")
	checks, _ = r.doctor("--cloud-config=" + r.file(r.inline(r.config())))
	r.requireCheck(checks, "workload", plugin.NotChecked, "use the file in --cloud-config")
	r.requireCheck(checks, "permissions", plugin.NotChecked, "not in this cluster")
	r.requireCheck(checks, "configuration", plugin.CheckOK, "is valid")
	checks, _ = r.doctor("--cloud-config=" + r.file("insecure: true\n"+r.inline(r.config())))
	r.requireCheck(checks, "configuration-warning", plugin.CheckWarning, "can read the credentials")
	checks, _ = r.doctor("--cloud-config=/does/not/exist")
	r.requireCheck(checks, "configuration", plugin.CheckProblem, "/does/not/exist")
}

// TestDoctorWithAKubeconfig: a cloud controller manager with a kubeconfig of its own is asked about its user.
func TestDoctorWithAKubeconfig(t *testing.T) {
	r := newRig(t)
	r.healthy(func(authorizationv1.SubjectAccessReviewSpec) bool { return false })
	text, err := os.ReadFile(r.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	maps := r.cluster.CoreV1().ConfigMaps("kube-system")
	one, err := maps.Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one.Data["kubeconfig"] = string(text)
	if _, err := maps.Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.changeContainer(func(c *corev1.Container) {
		c.Args = append(c.Args, "--kubeconfig=/etc/thalassa-ccm/config/kubeconfig")
	})
	r.cluster.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool,
		runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = review.Spec.ResourceAttributes.Verb != "delete"
		return true, review, nil
	})
	checks, _ := r.doctor()
	r.requireCheck(checks, "permissions", plugin.CheckProblem, "the user of its kubeconfig: It may not delete nodes.")
}

// TestDoctorWithOwnAccounts: each account is asked about what its controllers need.
func TestDoctorWithOwnAccounts(t *testing.T) {
	r := newRig(t)
	r.healthy(func(review authorizationv1.SubjectAccessReviewSpec) bool {
		return review.User != "system:serviceaccount:kube-system:service-controller" ||
			!slices.Contains(review.Groups, "system:serviceaccounts:kube-system")
	})
	r.changeContainer(func(c *corev1.Container) { c.Args = append(c.Args, "--use-service-account-credentials") })
	checks, _ := r.doctor()
	r.requireCheck(checks, "permissions", plugin.CheckProblem, "kube-system:service-controller: It may not create "+
		"events; patch events; patch services/status.")
	r.requireCheck(checks, "permissions", plugin.CheckOK, "kube-system:node-controller: It may do everything")
	r.requireCheck(checks, "permissions", plugin.CheckOK, "kube-system:thalassa-ccm: It may do everything")
}

// TestDoctorInATerminal: lines fit the width.
func TestDoctorInATerminal(t *testing.T) {
	r := newRig(t)
	r.healthy(everything)
	r.addUnknownNode("lost")
	for _, width := range []int{80, 200} {
		r.screen = terminal.Terminal{Width: width}
		for line := range strings.SplitSeq(r.run("doctor").out, "\n") {
			if len(line) > width {
				t.Errorf("a line of %d characters at width %d: %s", len(line), width, line)
			}
		}
	}
}

// TestSupportedVersions: the versions in the check are those of the chart.
func TestSupportedVersions(t *testing.T) {
	page, err := os.ReadFile(checkout.Path(t, "charts/thalassa-ccm/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, versions, _ := strings.Cut(string(page), "Supported are Kubernetes 1.")
	oldest, rest, _ := strings.Cut(versions, " to 1.")
	newest, _, _ := strings.Cut(rest, "\n")
	r := newRig(t)
	r.healthy(everything)
	for is, status := range map[string]plugin.CheckStatus{"v1." + oldest + ".0": plugin.CheckOK,
		"v1." + newest + ".9-vendor.1": plugin.CheckOK, "v1.32.9": plugin.CheckWarning,
		"v1.38.0": plugin.CheckWarning} {
		r.kubernetes(is)
		checks, _ := r.doctor()
		r.requireCheck(checks, "kubernetes-version", status, is)
	}
}
