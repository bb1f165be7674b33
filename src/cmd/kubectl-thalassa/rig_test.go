package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	official "github.com/thalassa-cloud/client-go/pkg/client"
	thalassacloud "github.com/thalassa-cloud/client-go/thalassa"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/cmd/clouds"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/schematest"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// token is the secret of the cloud controller manager, which no output may contain.
const token = emulator.DefaultToken

// rig is a cluster with a cloud controller manager that does not run, and an emulated cloud.
type rig struct {
	*testing.T
	cloud   *emulator.Emulator
	server  *httptest.Server
	cluster *fake.Clientset
	objects *dynamicfake.FakeDynamicClient // of other kinds; nil is none
	// screen is what the plug-in writes to, without In, Out and Err. Answer is what the user types.
	screen terminal.Terminal
	answer string
	// onAnswer is called before the user's answer is read.
	onAnswer func()
	keys     io.Reader // replaces the answer, if there are any
	build    build.Info
	ticks    chan time.Time // of commands that refresh
	config   func() string  // the cloud-config of the cloud controller manager
	errs     errorOutput
	// byKubeconfig uses the API server that the kubeconfig and flags name, in place of the cluster.
	byKubeconfig bool
	full         io.Writer // replaces the output, if it is not nil
	// onCall is called before the cloud answers a call.
	onCall atomic.Pointer[func(*http.Request)]
}

// serve starts the cloud.
func (r *rig) serve(cloud http.Handler) {
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if called := r.onCall.Load(); called != nil {
			(*called)(request)
		}
		cloud.ServeHTTP(w, request)
	}))
}

// newRig returns a cluster with the Nodes a and b, whose machines exist, and the workload kube-system/thalassa-ccm.
func newRig(t *testing.T) *rig {
	t.Helper()
	emulated, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(),
		Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, cloud: emulated, build: build.Info{Version: "0.1.0"}}
	r.serve(emulated)
	r.config = r.thalassaConfig
	t.Cleanup(func() {
		r.server.Close()
		if err := emulated.Close(); err != nil {
			t.Error(err)
		}
	})
	r.cluster = fake.NewClientset(append(r.workload(), systemNamespace())...)
	r.addNode("a")
	r.addNode("b")
	return r
}

// systemNamespace is the namespace whose UID is that of the cluster.
func systemNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system",
		UID: "6f1c1a52-0000-4000-8000-000000000001"}}
}

// thalassaConfig is the cloud-config for the emulated cloud.
func (r *rig) thalassaConfig() string {
	return "organisation: " + emulator.DefaultOrganisationSlug + "\nvpcIdentity: " + emulator.DefaultVPC +
		"\ncluster: k8s-test\nendpoint: " + r.server.URL + "\nloadBalancer: {creationPollInterval: 1}\n" +
		"cloudCredentials: {directory: /etc/thalassa-ccm/credentials}\n"
}

// workload returns the objects of the cloud controller manager, as the chart makes them.
func (r *rig) workload() []runtime.Object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "kube-system", Name: name}
	}
	pod := corev1.PodSpec{
		ServiceAccountName: "thalassa-ccm",
		Containers: []corev1.Container{{
			Name: "cloud-controller-manager", Image: "registry.example/thalassa-ccm:0.1.0",
			Command: []string{"/" + workload.Program},
			Args:    []string{"--bind-address=$(HOST_IP)", "--cloud-config=/etc/thalassa-ccm/config/cloud-config.yaml"},
			Env: []corev1.EnvVar{{Name: "HOST_IP", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/thalassa-ccm/config"},
				{Name: "credentials", MountPath: "/etc/thalassa-ccm/credentials"}},
		}},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "thalassa-ccm"}}}},
			{Name: "credentials", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: "thalassa-credentials"}}},
		},
	}
	labels := map[string]string{"app": "ccm"}
	return []runtime.Object{
		&appsv1.Deployment{ObjectMeta: meta("thalassa-ccm"), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 1, UpdatedReplicas: 1}},
		&corev1.ConfigMap{ObjectMeta: meta("thalassa-ccm"), Data: map[string]string{"cloud-config.yaml": r.config()}},
		&corev1.Secret{ObjectMeta: meta("thalassa-credentials"),
			Data: map[string][]byte{"personalAccessToken": []byte(token)}},
	}
}

// changeWorkload changes the pods of the cloud controller manager.
func (r *rig) changeWorkload(change func(*corev1.PodSpec)) {
	r.Helper()
	deployments := r.cluster.AppsV1().Deployments("kube-system")
	one, err := deployments.Get(r.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(&one.Spec.Template.Spec)
	if _, err := deployments.Update(r.Context(), one, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// addNode adds a machine to the cloud, and its Node.
func (r *rig) addNode(name string) {
	r.Helper()
	identity, err := r.cloud.AddMachine(emulator.MachineSpec{Name: name})
	if err != nil {
		r.Fatal(err)
	}
	_, err = r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{ProviderID: thalassa.ProviderName + "://" + identity}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

// addService adds a Service in the namespace shop, with port 80.
func (r *rig) addService(name string, changes ...func(*corev1.Service)) *corev1.Service {
	r.Helper()
	one := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("0a1b2c3d-0000-0000-0000-" + name)},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}},
	}
	for _, change := range changes {
		change(one)
	}
	created, err := r.cluster.CoreV1().Services("shop").Create(r.Context(), one, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return created
}

// changeService changes a Service in the namespace shop.
func (r *rig) changeService(name string, change func(*corev1.Service)) {
	r.Helper()
	services := r.cluster.CoreV1().Services("shop")
	one, err := services.Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(one)
	if _, err := services.Update(r.Context(), one, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// reconcile runs the service controller until all Services have an address.
func (r *rig) reconcile() {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), time.Minute)
	defer stop()
	file := r.file(r.inline(r.config()))
	made, err := thalassa.New("test")(ctx, cloud.Options{ConfigFile: file})
	if err != nil {
		r.Fatal(err)
	}
	r.reconcileIn(ctx, stop, made)
}

// reconcileIn runs the service controller with a cloud until all Services have an address.
func (r *rig) reconcileIn(ctx context.Context, stop context.CancelFunc, made *cloud.Cloud) {
	r.Helper()
	factory := informers.NewSharedInformerFactory(r.cluster, 0)
	core := factory.Core().V1()
	controller, err := service.New(service.Options{Provider: made.LoadBalancers, Behaviour: made.LoadBalancerBehaviour,
		Changes: made.Changes, Client: r.cluster, Recorder: &record.FakeRecorder{}, Services: core.Services(),
		Nodes: core.Nodes(), EndpointSlices: factory.Discovery().V1().EndpointSlices()})
	if err != nil {
		r.Fatal(err)
	}
	factory.StartWithContext(ctx)
	ended := make(chan struct{})
	go func() { controller.Run(ctx, 2); close(ended) }()
	defer func() { stop(); <-ended; factory.Shutdown() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !r.addressed() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.Fatal("the Services got no address")
		}
	}
}

// addressed reports whether all Services have an address.
func (r *rig) addressed() bool {
	all, err := r.cluster.CoreV1().Services("").List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return !slices.ContainsFunc(all.Items, func(one corev1.Service) bool {
		return one.Spec.Type == corev1.ServiceTypeLoadBalancer && len(one.Status.LoadBalancer.Ingress) == 0
	})
}

// kubeconfig returns the path of a kubeconfig whose namespace is shop.
func (r *rig) kubeconfig() string {
	r.Helper()
	file := filepath.Join(r.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: " +
		"'https://c.invalid'}}]\n" +
		"contexts: [{name: c, context: {cluster: c, user: c, namespace: shop}}]\nusers: [{name: c, user: {token: t}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return file
}

// inline returns a cloud-config with the credentials in it.
func (r *rig) inline(config string) string {
	return strings.Replace(config, "{directory: /etc/thalassa-ccm/credentials}", "{personalAccessToken: "+token+"}", 1)
}

// file returns the path of a file with a text.
func (r *rig) file(text string) string {
	r.Helper()
	path := filepath.Join(r.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

// api is a client of the emulated cloud.
func (r *rig) api() *iaas.Client {
	r.Helper()
	c, err := thalassacloud.NewClient(official.WithBaseURL(r.server.URL),
		official.WithOrganisation(emulator.DefaultOrganisationSlug), official.WithAuthPersonalToken(token))
	if err != nil {
		r.Fatal(err)
	}
	return c.IaaS()
}

// changeBalancer changes the load balancer with that name in the cloud, as another user does.
func (r *rig) changeBalancer(name string, change func(*iaas.UpdateLoadbalancer)) {
	r.Helper()
	all, err := r.api().ListLoadbalancers(r.Context(), &iaas.ListLoadbalancersRequest{})
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range all {
		if one.Name != name {
			continue
		}
		update := iaas.UpdateLoadbalancer{Name: one.Name, Description: one.Description, Labels: one.Labels,
			Annotations: one.Annotations, DeleteProtection: one.DeleteProtection}
		change(&update)
		if _, err := r.api().UpdateLoadbalancer(r.Context(), one.Identity, update); err != nil {
			r.Fatal(err)
		}
		return
	}
	r.Fatalf("there is no load balancer %s", name)
}

// answers is what a user types, after something else has happened.
type answers struct {
	io.Reader
	before func()
}

// Read implements io.Reader.
func (a *answers) Read(into []byte) (int, error) {
	if a.before != nil {
		a.before()
		a.before = nil
	}
	return a.Reader.Read(into)
}

// result is what a command printed, and its exit code.
type result struct {
	out, err string
	code     int
}

// run runs kubectl thalassa with arguments.
func (r *rig) run(args ...string) result {
	r.Helper()
	var out bytes.Buffer
	r.errs.clear()
	screen := r.screen
	screen.In, screen.Out, screen.Err = &answers{Reader: strings.NewReader(r.answer), before: r.onAnswer}, &out, &r.errs
	if r.full != nil {
		screen.Out = r.full
	}
	if r.keys != nil {
		screen.In = r.keys
	}
	client := func(*rest.Config) (kubernetes.Interface, error) { return r.cluster, nil }
	objects := func(*rest.Config) (dynamic.Interface, error) { return r.objects, nil }
	if r.objects == nil {
		r.objects = newObjects()
	}
	if r.byKubeconfig {
		client, objects = nil, nil
	}
	err := plugin.Execute(r.Context(), plugin.Options{Build: r.build, Terminal: screen,
		Providers: clouds.Providers("test"), Client: client, Objects: objects,
		Ticker: func(time.Duration) (<-chan time.Time, func()) { return r.ticks, func() {} }},
		slices.Concat(args[:1], []string{"--kubeconfig=" + r.kubeconfig()}, args[1:]))
	code, printed := plugin.ExitCode(err)
	if !printed {
		_, _ = r.errs.Write([]byte("Error: " + err.Error() + "\n"))
	}
	got := result{out.String(), r.errs.String(), code}
	if strings.Contains(got.out+got.err, token) {
		r.Errorf("a secret is printed:\n%s\n%s", got.out, got.err)
	}
	schematest.Require(r, args, got.out)
	return got
}

// wrote returns the writes to the cloud and to Kubernetes since the last call.
func (r *rig) wrote() []string {
	var writes []string
	for _, one := range r.cloud.Writes() {
		writes = append(writes, one.Operation)
	}
	r.cloud.ResetCounters()
	return append(writes, r.wroteToCluster()...)
}

// wroteToCluster returns the writes to Kubernetes since the last call.
func (r *rig) wroteToCluster() []string {
	var writes []string
	for _, action := range r.cluster.Actions() {
		review := strings.HasSuffix(action.GetResource().Resource, "accessreviews") // nothing is stored
		if verb := action.GetVerb(); verb != "get" && verb != "list" && verb != "watch" && !review {
			writes = append(writes, verb+" "+action.GetResource().Resource)
		}
	}
	r.cluster.ClearActions()
	return writes
}

// want checks a value.
func want[T comparable](r *rig, what string, got, want T) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got\n%v\nwant\n%v", what, got, want)
	}
}

// wantText checks that a text has parts.
func wantText(r *rig, what, text string, parts ...string) {
	r.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			r.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}
