package pod

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/image"
)

var webName = types.NamespacedName{Namespace: "shop", Name: "web"}

// diary is an image whose runs only record that they begin and end.
type diary struct {
	mu      sync.Mutex
	began   time.Time
	entries []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf("%s ", time.Since(d.began))+fmt.Sprintf(format, args...))
}

func (d *diary) Start(_ context.Context, l image.Launch) (container.Instance, error) {
	pod := l.Pod()
	d.add("start %s of %s at %s on %s", l.Container.Name, pod.UID, pod.Status.PodIP, pod.Status.HostIP)
	r := &entry{diary: d, name: l.Container.Name + " of " + string(pod.UID), done: make(chan struct{})}
	if len(l.Container.Args) > 0 { // how long it runs by itself
		life, err := time.ParseDuration(l.Container.Args[0])
		if err != nil {
			return nil, err
		}
		time.AfterFunc(life, func() { r.end("end") })
	}
	return r, nil
}

type entry struct {
	diary *diary
	name  string
	once  sync.Once
	done  chan struct{}
}

func (r *entry) end(how string) {
	r.once.Do(func() {
		r.diary.add("%s %s", how, r.name)
		close(r.done)
	})
}

func (r *entry) Done() <-chan struct{} { return r.done }
func (r *entry) Exit() container.Exit  { return container.Exit{} }

// Stop takes three seconds.
func (r *entry) Stop(grace time.Duration) {
	select {
	case <-r.done:
	case <-time.After(3 * time.Second):
		r.end("stop")
	case <-time.After(grace):
		r.end("kill")
	}
}

// newNode returns a node in a bubble with an API server that knows some pods.
func newNode(t *testing.T, pods ...runtime.Object) (*Node, *fake.Clientset, *diary) {
	t.Helper()
	client, d := fake.NewClientset(pods...), &diary{began: time.Now()}
	addresses := NewAddresses()
	addresses.SetRange(netip.MustParsePrefix("10.244.1.0/24"))
	return NewNode(Options{
		Machine:   image.Machine{Name: "one", Address: host, Client: client, Fabric: &fabric.Fabric{}},
		Images:    image.Set{"diary": d},
		Addresses: addresses, Dir: t.TempDir(), Recorder: &record.FakeRecorder{}, Logger: slog.New(slog.DiscardHandler),
	}), client, d
}

func newPod(uid string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: types.UID(uid)},
		Spec: corev1.PodSpec{
			NodeName: "one", RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{{Name: "main", Image: "diary:1"}},
		},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

func deleting(seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, &seconds
	}
}

// after lets time pass until everything that can happen has happened.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.entries); diff != "" {
		t.Errorf("diary (-want +got):\n%s", diff)
	}
}

func getPod(t *testing.T, client *fake.Clientset) *corev1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestSyncRunsAndDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := newPod("u1", nil)
		n, client, d := newNode(t, pod)
		n.Sync(webName, pod)
		after(time.Second)
		if got := getPod(t, client).Status; got.Phase != corev1.PodRunning || got.PodIP != "10.244.1.2" ||
			!got.ContainerStatuses[0].Ready {
			t.Errorf("status = %+v, want a running pod", got)
		}
		n.Sync(webName, newPod("u1", deleting(30)))
		after(2 * time.Second)
		if _, err := client.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			t.Errorf("the object went before its containers: %v", err)
		}
		after(2 * time.Second)
		if _, err := client.CoreV1().Pods("shop").Get(t.Context(), "web",
			metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the object is still there: %v", err)
		}
		d.check(t, "0s start main of u1 at 10.244.1.2 on 127.0.0.2", "4s stop main of u1")
		for _, action := range client.Actions() {
			if del, ok := action.(clienttesting.DeleteActionImpl); ok {
				if o := del.DeleteOptions; *o.GracePeriodSeconds != 0 || *o.Preconditions.UID != "u1" {
					t.Errorf("deleted with %+v, want grace 0 and the UID", o)
				}
			}
		}
		n.Sync(webName, nil)
		n.PowerOff(t.Context())
	})
}

func TestSyncEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(*Node)
		want string
	}{
		{"short grace", func(n *Node) { n.Sync(webName, newPod("u1", deleting(1))) }, "2s kill main of u1"},
		{"object removed by force", func(n *Node) { n.Sync(webName, nil) }, "1s kill main of u1"},
		{"powered off", func(n *Node) { go n.PowerOff(context.Background()) }, "4s stop main of u1"},
		{"power cut", func(n *Node) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			go n.PowerOff(ctx)
		}, "1s kill main of u1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pod := newPod("u1", nil)
				n, _, d := newNode(t, pod)
				n.Sync(webName, pod)
				after(time.Second)
				tt.end(n)
				after(time.Minute)
				d.check(t, "0s start main of u1 at 10.244.1.2 on 127.0.0.2", tt.want)
				n.Sync(webName, nil)
				n.PowerOff(t.Context())
			})
		})
	}
}

func TestSyncReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, d := newNode(t, newPod("u2", nil))
		n.Sync(webName, newPod("u1", func(p *corev1.Pod) { p.Spec.HostNetwork = true }))
		after(time.Second)
		n.Sync(webName, newPod("u2", func(p *corev1.Pod) { p.Spec.HostNetwork = true }))
		after(time.Minute)
		d.check(t, "0s start main of u1 at 127.0.0.2 on 127.0.0.2", "1s kill main of u1",
			"1s start main of u2 at 127.0.0.2 on 127.0.0.2")
		n.PowerOff(t.Context())
	})
}

func TestSyncNothingToRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := newPod("u1", nil)
		n, client, d := newNode(t, pod)
		n.Sync(webName, newPod("u1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }))
		after(time.Second)
		if calls := client.Actions(); len(calls) != 0 {
			t.Errorf("a pod that has ended caused %v, want nothing", calls)
		}
		// A pod that was being deleted while the machine was off only needs its object removed.
		failing := errors.New("not now")
		client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			err := failing
			failing = nil
			return err != nil, nil, err
		})
		n.Sync(webName, newPod("u1", deleting(30)))
		after(5 * time.Second)
		if _, err := client.CoreV1().Pods("shop").Get(t.Context(), "web",
			metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the object is still there: %v", err)
		}
		d.check(t)
		n.PowerOff(t.Context())
		n.Sync(webName, newPod("u2", nil))
		after(time.Second)
		d.check(t)
	})
}

// What the API server refuses is written later, and what somebody else changed is written again.
func TestReporterInsists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := newPod("u1", nil)
		n, client, _ := newNode(t, pod)
		refusals := 3
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			refusals--
			return refusals >= 0, nil, errors.New("not now")
		})
		n.Sync(webName, pod)
		after(10 * time.Second)
		written := getPod(t, client)
		if written.Status.Phase != corev1.PodRunning {
			t.Errorf("phase = %s after refusals, want Running", written.Status.Phase)
		}
		for i := range written.Status.Conditions {
			written.Status.Conditions[i].Status = corev1.ConditionFalse
		}
		if _, err := client.CoreV1().Pods("shop").UpdateStatus(t.Context(), written,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		n.Sync(webName, written)
		after(time.Second)
		for _, c := range getPod(t, client).Status.Conditions {
			if c.Status != corev1.ConditionTrue {
				t.Errorf("condition %s stays %s, want it corrected", c.Type, c.Status)
			}
		}
		client.ClearActions()
		n.Sync(webName, getPod(t, client))
		after(time.Minute)
		if got := len(client.Actions()); got != 1 { // that of getPod
			t.Errorf("%d calls about an unchanged pod, want none: %v", got-1, client.Actions())
		}
		n.PowerOff(t.Context())
	})
}

// Events from before the node's last write do not make it write again.
func TestReporterIgnoresStaleUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := newPod("u1", nil)
		pod.ResourceVersion = "10"
		n, client, _ := newNode(t, pod)
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			answer := pod.DeepCopy()
			answer.ResourceVersion = "20"
			return true, answer, nil
		})
		n.Sync(webName, pod)
		after(time.Second)
		report := func(version string) {
			update := pod.DeepCopy()
			update.ResourceVersion = version
			update.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			client.ClearActions()
			n.Sync(webName, update)
			after(time.Second)
		}
		report("15")
		if calls := client.Actions(); len(calls) != 0 {
			t.Errorf("a stale update caused %v", calls)
		}
		report("25")
		if calls := client.Actions(); len(calls) != 1 {
			t.Errorf("a new update caused %d calls, want one correction", len(calls))
		}
		n.PowerOff(t.Context())
	})
}

func TestGrace(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	tests := []struct {
		name           string
		spec, deletion *int64
		want           time.Duration
	}{
		{"API default", nil, nil, 30 * time.Second},
		{"of the spec", seconds(5), nil, 5 * time.Second},
		{"of the deletion", seconds(5), seconds(60), time.Minute},
		{"at once", seconds(5), seconds(0), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &worker{}
			w.pod.Store(newPod("u1", func(p *corev1.Pod) {
				p.Spec.TerminationGracePeriodSeconds, p.DeletionGracePeriodSeconds = tt.spec, tt.deletion
			}))
			if got := w.grace(); got != tt.want {
				t.Errorf("grace = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCannotStart(t *testing.T) {
	for want, change := range map[string]func(*corev1.PodSpec){
		`ImagePullBackOff: this virtual node pulls no images and does not have "unknown:2"`: func(s *corev1.PodSpec) {
			s.Containers[0].Image = "unknown:2"
		},
		"CreateContainerConfigError: virtual nodes run no init containers": func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "first"}}
		},
		"CreateContainerConfigError: virtual nodes run one container of a pod": func(s *corev1.PodSpec) {
			s.Containers = append(s.Containers, corev1.Container{Name: "second"})
		},
		"CreateContainerConfigError: virtual nodes support no other restartPolicy": func(s *corev1.PodSpec) {
			s.RestartPolicy = corev1.RestartPolicyNever
		},
		"CreateContainerConfigError: virtual nodes support no readiness gates": func(s *corev1.PodSpec) {
			s.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "lb"}}
		},
		"CreateContainerConfigError: virtual nodes run no lifecycle hooks": func(s *corev1.PodSpec) {
			s.Containers[0].Lifecycle = &corev1.Lifecycle{}
		},
		"CreateContainerConfigError: virtual nodes support no startup probes": func(s *corev1.PodSpec) {
			s.Containers[0].StartupProbe = &corev1.Probe{}
		},
		"CreateContainerConfigError: virtual nodes support httpGet probes without host": func(s *corev1.PodSpec) {
			s.Containers[0].ReadinessProbe = &corev1.Probe{}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			pod := newPod("u1", func(p *corev1.Pod) { change(&p.Spec) })
			n, client, _ := newNode(t, pod)
			n.Sync(webName, pod)
			after(time.Second)
			w := getPod(t, client).Status.ContainerStatuses[0].State.Waiting
			if w == nil || !strings.HasPrefix(w.Reason+": "+w.Message, want) {
				t.Errorf("the container waits for %+v, want %s", w, want)
			}
			n.PowerOff(t.Context())
		})
	}
}
