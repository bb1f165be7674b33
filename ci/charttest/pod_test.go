package charttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// restrictions returns what a pod does that the restricted Pod Security Standard
// forbids, in words.
// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
func restrictions(spec corev1.PodSpec) []string {
	var violations []string
	for name, violated := range map[string]bool{
		"hostNetwork": spec.HostNetwork,
		"hostPID":     spec.HostPID,
		"hostIPC":     spec.HostIPC,
		"volumes":     slices.ContainsFunc(spec.Volumes, harmful),
		"pod":         !nonRoot(spec.SecurityContext),
	} {
		if violated {
			violations = append(violations, name)
		}
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if !confined(container.SecurityContext) {
			violations = append(violations, "container "+container.Name)
		}
	}
	slices.Sort(violations)
	return violations
}

func harmful(volume corev1.Volume) bool {
	return volume.ConfigMap == nil && volume.Secret == nil && volume.Projected == nil &&
		volume.EmptyDir == nil && volume.DownwardAPI == nil
}

func nonRoot(context *corev1.PodSecurityContext) bool {
	return context != nil && isTrue(context.RunAsNonRoot) && context.RunAsUser != nil && *context.RunAsUser != 0 &&
		context.SeccompProfile != nil && context.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault
}

func confined(context *corev1.SecurityContext) bool {
	return context != nil && !isTrue(context.Privileged) && isTrue(context.ReadOnlyRootFilesystem) &&
		context.AllowPrivilegeEscalation != nil && !*context.AllowPrivilegeEscalation &&
		context.Capabilities != nil && len(context.Capabilities.Add) == 0 &&
		slices.Equal(context.Capabilities.Drop, []corev1.Capability{"ALL"}) &&
		(context.RunAsUser == nil || *context.RunAsUser != 0) && (context.RunAsNonRoot == nil || *context.RunAsNonRoot)
}

func isTrue(value *bool) bool { return value != nil && *value }

func TestPodIsRestricted(t *testing.T) {
	if got := restrictions(daemonSet(t).Spec.Template.Spec); !slices.Equal(got, []string{"hostNetwork"}) {
		t.Errorf("the pod violates %q, want the host network only", got)
	}
	if got := restrictions(daemonSet(t, "hostNetwork=false").Spec.Template.Spec); len(got) > 0 {
		t.Errorf("without the host network the pod violates %q", got)
	}
}

// TestEveryPodIsRestricted checks the pods of every values file.
func TestEveryPodIsRestricted(t *testing.T) {
	for name, path := range valuesFiles(t) {
		template := podTemplate(objects(t, readValues(t, path)))
		if template == nil {
			continue
		}
		var want []string
		if template.Spec.HostNetwork {
			want = []string{"hostNetwork"}
		}
		if got := restrictions(template.Spec); !slices.Equal(got, want) {
			t.Errorf("%s: the pods violate %q, want %q", name, got, want)
		}
	}
}

func TestRestrictionsSeeViolations(t *testing.T) {
	for name, change := range map[string]func(*corev1.PodSpec){
		"hostPID": func(s *corev1.PodSpec) { s.HostPID = true },
		"hostIPC": func(s *corev1.PodSpec) { s.HostIPC = true },
		"volumes": func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{{Name: "root"}} },
		"pod":     func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = new(bool) },
		"container cloud-controller-manager": func(s *corev1.PodSpec) {
			s.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := daemonSet(t, "hostNetwork=false").Spec.Template.Spec
			change(&spec)
			if got := restrictions(spec); !slices.Equal(got, []string{name}) {
				t.Errorf("violations %q, want %q", got, name)
			}
		})
	}
}

// TestPodNeedsNothingThatWaitsForIt is about the bootstrap: a new node is tainted
// until this pod runs on some node, so nothing it needs may wait for nodes.
func TestPodNeedsNothingThatWaitsForIt(t *testing.T) {
	spec := daemonSet(t).Spec.Template.Spec
	if !spec.HostNetwork {
		t.Error("the pod waits for a CNI plug-in")
	}
	if spec.DNSPolicy != corev1.DNSDefault {
		t.Errorf("DNS policy %q waits for CoreDNS, want Default", spec.DNSPolicy)
	}
	if len(spec.InitContainers) > 0 {
		t.Error("the pod waits for init containers")
	}
	if spec.PriorityClassName != "system-cluster-critical" {
		t.Errorf("priority class %q may be evicted", spec.PriorityClassName)
	}
}

// TestPodToleratesEveryTaint tries those a node can carry before it is ready,
// and two that are not known.
func TestPodToleratesEveryTaint(t *testing.T) {
	tolerations := map[string][]corev1.Toleration{}
	for _, kind := range []string{"DaemonSet", "Deployment"} {
		tolerations[kind] = pod(t, "kind="+kind).Spec.Tolerations
	}
	for key, effect := range map[string]corev1.TaintEffect{
		"node.cloudprovider.kubernetes.io/uninitialized": corev1.TaintEffectNoSchedule,
		"node.cloudprovider.kubernetes.io/shutdown":      corev1.TaintEffectNoSchedule,
		"node-role.kubernetes.io/control-plane":          corev1.TaintEffectNoSchedule,
		"node-role.kubernetes.io/master":                 corev1.TaintEffectNoSchedule,
		"node.kubernetes.io/not-ready":                   corev1.TaintEffectNoExecute,
		"node.kubernetes.io/unreachable":                 corev1.TaintEffectNoExecute,
		"node.kubernetes.io/network-unavailable":         corev1.TaintEffectNoSchedule,
		"node.kubernetes.io/unschedulable":               corev1.TaintEffectNoSchedule,
		"node.kubernetes.io/memory-pressure":             corev1.TaintEffectNoSchedule,
		"node.kubernetes.io/disk-pressure":               corev1.TaintEffectNoSchedule,
		"node.kubernetes.io/pid-pressure":                corev1.TaintEffectNoSchedule,
		"example.com/of-some-cni":                        corev1.TaintEffectNoExecute,
		"example.com/preference":                         corev1.TaintEffectPreferNoSchedule,
	} {
		t.Run(key, func(t *testing.T) {
			taint := corev1.Taint{Key: key, Value: "anything", Effect: effect}
			for kind, tolerated := range tolerations {
				untolerated, found := schedulinghelpers.FindMatchingUntoleratedTaint(klog.Background(),
					[]corev1.Taint{taint}, tolerated, nil, false)
				if found {
					t.Errorf("%s: %v is not tolerated by %v", kind, untolerated, tolerated)
				}
			}
		})
	}
}

func TestPodPlacement(t *testing.T) {
	controlPlane := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	for name, test := range map[string]struct {
		sets   []string
		labels map[string]string
		want   bool
	}{
		"control plane of kubeadm": {nil, controlPlane, true},
		"control plane of k3s":     {nil, map[string]string{"node-role.kubernetes.io/control-plane": "true"}, true},
		"worker":                   {nil, map[string]string{"node-role.kubernetes.io/worker": ""}, false},
		"anywhere":                 {[]string{"affinity.nodeAffinity=null"}, nil, true},
		"pool": {[]string{"affinity.nodeAffinity=null", "nodeSelector.pool=system"},
			map[string]string{"pool": "system"}, true},
		"other pool": {[]string{"affinity.nodeAffinity=null", "nodeSelector.pool=system"}, controlPlane,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: daemonSet(t, test.sets...).Spec.Template.Spec}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: test.labels}}
			got, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
			if err != nil || got != test.want {
				t.Errorf("match %v, error %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestTolerationsCanBeReplaced(t *testing.T) {
	got := daemonSet(t, "tolerations[0].key=only", "tolerations[0].operator=Exists").Spec.Template.Spec.Tolerations
	if len(got) != 1 || got[0].Key != "only" {
		t.Errorf("tolerations %v, want the one that was set", got)
	}
}

func TestResources(t *testing.T) {
	resources := container(t, "resources.requests.cpu=200m", "resources.requests.memory=512Mi",
		"resources.limits.cpu=1", "resources.limits.memory=1Gi").Resources
	for name, test := range map[string]struct {
		list corev1.ResourceList
		want string
	}{
		"requests": {resources.Requests, "200m 512Mi"},
		"limits":   {resources.Limits, "1 1Gi"},
	} {
		if got := fmt.Sprintf("%v %v", test.list.Cpu(), test.list.Memory()); got != test.want {
			t.Errorf("%s %s, want %s", name, got, test.want)
		}
	}
}

// TestResourcesOfTheRequirements: the container gets the resources that a cloud controller manager is said to need.
func TestResourcesOfTheRequirements(t *testing.T) {
	got := container(t, "resources.requests.cpu=200m", "resources.requests.memory=512Mi", "resources.limits.cpu=1",
		"resources.limits.memory=1Gi").Resources
	want := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("200m"), "memory": resource.MustParse("512Mi")},
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

// TestGraceCoversACall: a pod gets the time of one call to the cloud and 15 seconds, which TestGrace in src/manager
// says is what the program needs; a value that is more counts.
func TestGraceCoversACall(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want int64
	}{
		"by default":      {nil, 45},
		"a short timeout": {[]string{"cloudConfig.api.callTimeout=5"}, 45},
		"a long timeout":  {[]string{"cloudConfig.api.callTimeout=600"}, 615},
		"more than needed": {[]string{"cloudConfig.api.callTimeout=60", "terminationGracePeriodSeconds=120"},
			120},
		"less than needed":        {[]string{"cloudConfig.api.callTimeout=60", "terminationGracePeriodSeconds=60"}, 75},
		"without the timeout":     {[]string{"cloudConfig.api.callTimeout=null"}, 45},
		"without the section":     {[]string{"cloudConfig.api=null"}, 45},
		"no grace":                {[]string{"terminationGracePeriodSeconds=0"}, 45},
		"of a Deployment as well": {[]string{"kind=Deployment", "cloudConfig.api.callTimeout=100"}, 115},
	} {
		t.Run(name, func(t *testing.T) {
			if got := *pod(t, test.sets...).Spec.TerminationGracePeriodSeconds; got != test.want {
				t.Errorf("the pod gets %d s, want %d", got, test.want)
			}
		})
	}
}
