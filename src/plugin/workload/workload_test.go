package workload

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "system", Name: name} }

func named(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}

// workloadPod is a pod of the program, with everything that a pod can have its configuration from.
func workloadPod() corev1.PodSpec {
	optional := true
	return corev1.PodSpec{
		Containers: []corev1.Container{{Name: "other", Command: []string{"/proxy"}}, {
			Name: "ccm", Image: "registry.example:5000/ccm:0.1.0@sha256:0123",
			Command: []string{"/bin/" + Program, "--v=2"},
			Args: []string{"--cluster-name=$(CLUSTER)", "--bind-address=$(HOST_IP)", "--text=$(TOKEN)$(PLAIN)$$(PLAIN)",
				"--address", "$(HOST_IP)", "--last"},
			EnvFrom: []corev1.EnvFromSource{
				{Prefix: "A_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("config")}},
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("missing"), Optional: &optional}},
			},
			Env: []corev1.EnvVar{
				{Name: "PLAIN", Value: "plain"}, {Name: "BOTH", Value: "$(PLAIN)-$(A_cluster)"},
				{Name: "CLUSTER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
					LocalObjectReference: named("config"), Key: "cluster"}}},
				{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: named("secret"), Key: "token"}}},
				{Name: "HOST_IP", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "config", MountPath: "/etc/ccm"}, {Name: "secret", MountPath: "/etc/ccm/secret/"},
				{Name: "secret", MountPath: "/etc/one", SubPath: "dir"}, {Name: "token", MountPath: "/var/run/token"},
				{Name: "both", MountPath: "/both"}, {Name: "host", MountPath: "/host"},
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: named("config")}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret",
				Items: []corev1.KeyToPath{{Key: "token", Path: "dir/token"}}}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Path: "token"}}}}}},
			{Name: "both", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{Secret: &corev1.SecretProjection{LocalObjectReference: named("secret")}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("config")}}}}}},
			{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/host"}}},
		},
	}
}

func daemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: meta(name),
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: workloadPod()}}}
}

// cluster returns a cluster with the DaemonSet system/ccm, and more.
func cluster(more ...runtime.Object) *fake.Clientset {
	return fake.NewClientset(append(more, daemonSet("ccm"),
		&corev1.ConfigMap{ObjectMeta: meta("config"), Data: map[string]string{"cluster": "blue"},
			BinaryData: map[string][]byte{"binary": {1}}},
		&corev1.Secret{ObjectMeta: meta("secret"), Data: map[string][]byte{"token": []byte("s3cret")}})...)
}

// process returns what the process in the cluster has.
func process(t *testing.T, client *fake.Clientset) Process {
	t.Helper()
	found, err := Find(t.Context(), client, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := found.Process(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProcess(t *testing.T) {
	p := process(t, cluster())
	want := []string{"--v=2", "--cluster-name=blue", "--text=s3cretplain$(PLAIN)", "--last"}
	if diff := cmp.Diff(want, p.Args); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"PLAIN": "plain", "BOTH": "plain-blue", "A_cluster": "blue",
		"HOST_IP": "", "NONE": ""} {
		if got := p.Environment.Getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if p.Environment.Own() {
		t.Error("the environment is that of this process")
	}
}

// TestFiles: each path leads to the content that its pod has, or to a reason why it is not known here.
func TestFiles(t *testing.T) {
	e := process(t, cluster()).Environment
	for path, want := range map[string]string{
		"/etc/ccm/cluster": "blue", "/etc/ccm/../ccm/binary": "\x01", "/etc/ccm/secret/dir/token": "s3cret",
		"/etc/one/token": "s3cret", "/both/token": "s3cret", "/both/cluster": "blue",
	} {
		file, err := e.Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if content, err := io.ReadAll(file); err != nil || string(content) != want {
			t.Errorf("%s contains %q, error %v, want %q", path, content, err, want)
		}
	}
	if _, err := e.Open("/etc/ccm/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	for path, want := range map[string]string{
		"/var/run/token/token": "workload identity", "/host/x": "on the node of its pod",
		"/elsewhere": "only its pod has it",
	} {
		if _, err := e.Open(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--cloud-config=FILE") {
			t.Errorf("%s: error %v, want one with %q and what to do", path, err, want)
		}
	}
	if got, err := e.Resolve("/etc/ccm/secret"); err != nil || got != "/etc/ccm/secret" {
		t.Errorf("the directory leads to %q, error %v", got, err)
	}
	if _, err := e.Resolve("/elsewhere"); err == nil {
		t.Error("a directory that is not mounted can be read")
	}
}

// forbid makes requests for a kind of object fail, in all namespaces or in one.
func forbid(client *fake.Clientset, resource, namespace string) {
	client.PrependReactor("*", resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() != namespace {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "secret",
			errors.New("you may not"))
	})
}

func TestSecretThatIsNotPermitted(t *testing.T) {
	client := cluster()
	forbid(client, "secrets", "system")
	found, err := Find(t.Context(), client, "system/ccm")
	if err != nil {
		t.Fatal(err)
	}
	_, err = found.Process(t.Context())
	if err == nil || !strings.Contains(err.Error(), "you may not") ||
		!strings.Contains(err.Error(), "permission to get it, or pass --cloud-config=FILE") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestFind(t *testing.T) {
	found, err := Find(t.Context(), cluster(), "")
	if err != nil || found.String() != "DaemonSet system/ccm" || found.Version() != "0.1.0" ||
		found.Container.Name != "ccm" {
		t.Errorf("found %v, error %v", found, err)
	}
	replicas := int32(2)
	second := &appsv1.Deployment{ObjectMeta: meta("second"), Spec: appsv1.DeploymentSpec{Replicas: &replicas,
		Template: corev1.PodTemplateSpec{Spec: workloadPod()}}}
	for name, want := range map[string]string{
		"":  "several cloud controller managers (DaemonSet system/ccm, Deployment system/second): choose one",
		"x": "want NAMESPACE/NAME", "system/none": ErrNotFound.Error(),
	} {
		if _, err := Find(t.Context(), cluster(second), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", name, err, want)
		}
	}
	if found, err = Find(t.Context(), cluster(second), "system/second"); err != nil || found.Desired != 2 {
		t.Errorf("found %v, error %v", found, err)
	}
	if _, err := Find(t.Context(), fake.NewClientset(), ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("an empty cluster: error %v", err)
	}
}

// TestFindPrefersProven: what a tenant makes neither hides the cloud controller manager nor takes its place.
func TestFindPrefersProven(t *testing.T) {
	in := func(namespace string, pods int32) *appsv1.DaemonSet {
		one := daemonSet("ccm")
		one.Namespace, one.Status.NumberReady = namespace, pods
		return one
	}
	for name, test := range map[string]struct {
		all       []runtime.Object
		permitted string // the namespace whose account may write the status of Services
		want      string
		reviews   int
	}{
		"kube-system and a tenant":   {[]runtime.Object{in("kube-system", 1), in("a", 1)}, "", "kube-system", 0},
		"kube-system, no pods":       {[]runtime.Object{in("kube-system", 0), in("a", 1)}, "", "kube-system", 1},
		"the release and a tenant":   {[]runtime.Object{in("a", 1), in("b", 1)}, "b", "b", 2},
		"the release, no pods":       {[]runtime.Object{in("a", 1), in("b", 0)}, "b", "b", 2},
		"the release, and a rest":    {[]runtime.Object{in("kube-system", 0), in("b", 1)}, "b", "b", 1},
		"two tenants, one with pods": {[]runtime.Object{in("a", 1), in("b", 0)}, "", "a unproven", 2},
		"several tenants":            {[]runtime.Object{in("a", 0), in("b", 0), in("c", 0), in("d", 0)}, "", "", 4},
		"a tenant":                   {[]runtime.Object{in("a", 1)}, "", "a unproven", 1},
	} {
		t.Run(name, func(t *testing.T) {
			client, reviews := fake.NewClientset(test.all...), 0
			client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool,
				runtime.Object, error) {
				reviews++
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
				review.Status.Allowed = review.Spec.User == "system:serviceaccount:"+test.permitted+":default"
				return true, review, nil
			})
			found, err := Find(t.Context(), client, "")
			got := ""
			if err == nil {
				got = found.Namespace
				if !found.Proven {
					got += " unproven"
				}
			} else if !errors.Is(err, ErrUnproven) || !strings.Contains(err.Error(), "DaemonSet c/ccm, and 1 more)") {
				t.Errorf("error %v, want one that names three", err)
			}
			if got != test.want || reviews != test.reviews {
				t.Errorf("found %q with %d reviews, want %q with %d", got, reviews, test.want, test.reviews)
			}
		})
	}
}

// TestFindWithoutPermissionForAll: only kube-system is searched.
func TestFindWithoutPermissionForAll(t *testing.T) {
	inSystem := daemonSet("ccm")
	inSystem.Namespace = metav1.NamespaceSystem
	client := fake.NewClientset(inSystem)
	forbid(client, "deployments", "")
	if found, err := Find(t.Context(), client, ""); err != nil || found.Namespace != metav1.NamespaceSystem {
		t.Errorf("found %v, error %v", found, err)
	}
	forbid(client, "deployments", metav1.NamespaceSystem)
	if _, err := Find(t.Context(), client, ""); err == nil || !strings.Contains(err.Error(), "--ccm=NAMESPACE/NAME") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestVersion(t *testing.T) {
	for image, want := range map[string]string{
		"ccm:0.1.0": "0.1.0", "r.example:5000/a/ccm:v1": "v1", "r.example:5000/a/ccm": "", "ccm@sha256:01": "",
	} {
		w := &Workload{Container: corev1.Container{Image: image}}
		if got := w.Version(); got != want {
			t.Errorf("the version of %s is %q, want %q", image, got, want)
		}
	}
}
