package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

const (
	// releaseName is the Helm release, webName the Service of examples/web.yaml.
	releaseName = "thalassa-ccm"
	webName     = "web"
	// ccmLabels select the pods of the chart's workload.
	ccmLabels = "k8s-app=cloud-controller-manager"
)

// play tells the story.
func (s *stage) play(ctx context.Context) error {
	for _, chapter := range []func(context.Context) error{s.startServers, s.install, s.nodesInitialised, s.serve,
		s.grow, s.endService} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startServers gives the cluster three nodes. They cannot be used yet.
func (s *stage) startServers(ctx context.Context) error {
	s.printer.chapter("Three servers in the cloud, three nodes in the cluster")
	for _, server := range []struct {
		name, zone   string
		controlPlane bool
	}{
		{s.cluster.nodeName("control-plane"), "nl-01a", !s.cluster.external},
		{s.cluster.nodeName("worker-1"), "nl-01b", false},
		{s.cluster.nodeName("worker-2"), "nl-01c", false},
	} {
		if err := s.addNode(ctx, server.name, server.zone, server.controlPlane); err != nil {
			return err
		}
	}
	return nil
}

// install installs the chart, and waits until the workload it made runs.
func (s *stage) install(ctx context.Context) error {
	with, err := s.cloud.installation()
	if err != nil {
		return err
	}
	s.printer.chapter("helm install thalassa-ccm charts/thalassa-ccm" + with.flags)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: with.secret}, StringData: with.credentials}
	if _, err := s.cluster.client.CoreV1().Secrets(s.cluster.systemNamespace).Create(ctx, secret,
		metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("creating the Secret with the cloud's credentials: %w", err)
	}
	// All nodes share this machine; each has an address of its own on it.
	with.values["bindAddress"] = "$(HOST_IP)"
	s.cluster.adapt(with.values)
	release := chart.Release{Name: s.cluster.release(), Namespace: s.cluster.systemNamespace, Values: with.values,
		Rewrite: s.cluster.rewrite()}
	// Before the installation: one that fails half-way leaves what it made until then.
	s.later("the chart", s.uninstall)
	if _, err := chart.Install(ctx, s.cluster.config, s.chart(), release, io.Discard); err != nil {
		return err
	}
	s.printer.say("Installed; the credentials are in Secret %s, the configuration refers to it", with.secret)
	return s.ccmRuns(ctx)
}

// chart is the folder of the chart.
func (s *stage) chart() string { return filepath.Join(s.options.Root, "charts", "thalassa-ccm") }

// uninstall removes the chart, if it was installed. In the user's cluster, the Services go first, while somebody runs
// who takes their load balancers down, and the namespace last, while the nodes still are there on which its pods end.
func (s *stage) uninstall(ctx context.Context) error {
	var failures []error
	if s.cluster.external {
		failures = append(failures, s.cluster.endServices(ctx))
	}
	err := chart.Uninstall(ctx, s.cluster.config, s.cluster.release(), s.cluster.systemNamespace, io.Discard)
	if !errors.Is(err, driver.ErrReleaseNotFound) {
		failures = append(failures, err)
	}
	if s.cluster.external {
		failures = append(failures, s.cluster.removeRoles(ctx), s.cluster.removeNamespace(ctx))
	}
	return errors.Join(failures...)
}

// ccmRuns waits until the workload that the chart made runs.
func (s *stage) ccmRuns(ctx context.Context) error {
	return until(ctx, "the cloud controller manager runs", func(ctx context.Context) (bool, error) {
		pods, err := s.cluster.client.CoreV1().Pods(s.cluster.systemNamespace).List(ctx,
			metav1.ListOptions{LabelSelector: ccmLabels})
		if err != nil {
			return false, err
		}
		if len(pods.Items) == 0 {
			return false, s.cluster.workloadTrouble(ctx)
		}
		pod := pods.Items[0]
		if pod.Spec.NodeName != "" {
			s.cluster.ccmLog = s.nodes[pod.Spec.NodeName].Logs(pod.Namespace, pod.Name, pod.Spec.Containers[0].Name)
		}
		if pod.Status.Phase != corev1.PodRunning || restarted(&pod) {
			return false, fmt.Errorf("pod %s is %s: %s", pod.Name, pod.Status.Phase, waitingFor(&pod))
		}
		s.printer.say("The scheduler put pod %s/%s on %s, which runs %s as the API server says",
			pod.Namespace, pod.Name,
			pod.Spec.NodeName, pod.Spec.Containers[0].Command[0])
		return true, nil
	})
}

func (s *stage) nodesInitialised(ctx context.Context) error {
	s.printer.chapter("The cloud controller manager initialises the nodes")
	for name := range s.nodes {
		if err := s.nodeInitialised(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) nodeInitialised(ctx context.Context, name string) error {
	return until(ctx, "node "+name+" is initialised", func(ctx context.Context) (bool, error) {
		node, err := s.cluster.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil || !initialised(node) {
			return false, err
		}
		s.printer.say("%s: %s; the taint is gone", name, describeNode(node))
		return true, nil
	})
}

// serve applies the example and reaches it through the load balancer.
func (s *stage) serve(ctx context.Context) error {
	s.printer.chapter("kubectl apply -f examples/web.yaml")
	if err := s.applyExample(ctx); err != nil {
		return err
	}
	s.printer.say("Applied: a Deployment of two web servers and a Service of type LoadBalancer, port 80 to 8080")
	if err := s.addressed(ctx); err != nil {
		return err
	}
	return s.answered(ctx)
}

func (s *stage) applyExample(ctx context.Context) error {
	file, err := os.Open(filepath.Join(s.options.Root, "examples", "web.yaml"))
	if err != nil {
		return fmt.Errorf("opening the example: %w", err)
	}
	defer file.Close()
	// Registered before the first object is made: whatever was made is removed.
	s.later("the example", s.removeExample)
	for documents := yaml.NewYAMLReader(bufio.NewReader(file)); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading examples/web.yaml: %w", err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err == nil {
			err = s.cluster.create(ctx, object)
		}
		if err != nil {
			return fmt.Errorf("applying examples/web.yaml: %w", err)
		}
	}
}

// addressed waits until the Service has an address, and prints what the load balancer does until then.
func (s *stage) addressed(ctx context.Context) error {
	seen := ""
	return until(ctx, "the Service has an address", func(ctx context.Context) (bool, error) {
		service, err := s.cluster.client.CoreV1().Services(s.cluster.webNamespace).Get(ctx, webName,
			metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		balancer, err := s.cloud.balancer(ctx, service)
		if err != nil && !errors.Is(err, errNoBalancer) {
			return false, err
		}
		if balancer.state != seen {
			seen = balancer.state
			s.printer.say("The cloud's load balancer %s is %q", balancer.name, seen)
		}
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return false, nil
		}
		ingress := service.Status.LoadBalancer.Ingress[0]
		s.service = service
		s.printer.say("Service %s/%s has the address %s (ipMode %s)", service.Namespace, service.Name, ingress.IP,
			ptr.Deref(ingress.IPMode, "unset"))
		return true, nil
	})
}

// answered fetches a page through the load balancer.
func (s *stage) answered(ctx context.Context) error {
	served, err := s.served(ctx)
	if err != nil {
		return err
	}
	return until(ctx, "an answer comes through the load balancer", func(ctx context.Context) (bool, error) {
		body, err := fetch(ctx, "http://"+served+"/")
		if err != nil {
			return false, err
		}
		s.printer.say("GET http://%s/ through the load balancer:", served)
		for line := range strings.Lines(body) {
			s.printer.plain("            | %s", strings.TrimRight(line, "\n"))
		}
		return true, nil
	})
}

// served waits until the load balancer listens, and returns where.
func (s *stage) served(ctx context.Context) (at string, err error) {
	err = until(ctx, "the load balancer listens", func(ctx context.Context) (bool, error) {
		balancer, err := s.cloud.balancer(ctx, s.service)
		if err != nil {
			return false, err
		}
		if at = balancer.served; at == "" {
			return false, fmt.Errorf("load balancer %s answers nowhere: %s", balancer.name, balancer.problem)
		}
		if at != net.JoinHostPort(s.service.Status.LoadBalancer.Ingress[0].IP, "80") {
			s.printer.say("The emulated load balancer answers at %s instead: %s", at, balancer.problem)
		}
		return true, nil
	})
	return at, err
}

// grow adds a server, whose node becomes a target.
func (s *stage) grow(ctx context.Context) error {
	s.printer.chapter("A fourth server joins")
	name := s.cluster.nodeName("worker-3")
	if err := s.addNode(ctx, name, "nl-01a", false); err != nil {
		return err
	}
	if err := s.nodeInitialised(ctx, name); err != nil {
		return err
	}
	return until(ctx, name+" is a target", func(ctx context.Context) (bool, error) {
		balancer, err := s.cloud.balancer(ctx, s.service)
		if err != nil || !slices.Contains(balancer.targets, s.nodes[name].Address()) {
			return false, err
		}
		s.printer.say("%s is a target of the load balancer now, which has %d", name, len(balancer.targets))
		return true, nil
	})
}

// endService deletes the example and waits until the cloud is empty again.
func (s *stage) endService(ctx context.Context) error {
	s.printer.chapter("kubectl delete -f examples/web.yaml")
	if err := s.removeExample(ctx); err != nil {
		return err
	}
	return until(ctx, "the load balancer is gone", func(ctx context.Context) (bool, error) {
		left, err := s.cloud.remaining(ctx)
		if err != nil || left != "" {
			return false, errors.Join(err, fmt.Errorf("the cloud still has %s", left))
		}
		s.printer.say("The Service is gone, and the cloud is empty: no %s", strings.Join(s.cloud.kinds(), ", no "))
		return true, nil
	})
}

// fetch returns the body of a page.
func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: cloudTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("fetching %s: HTTP %d", url, response.StatusCode)
	}
	return string(body), nil
}
