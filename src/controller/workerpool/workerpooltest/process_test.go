package workerpooltest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

func nodeA() *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}} }

// TestOneProcessAfterTheOther, each with informers of its own, and the last one until the test has ended.
func TestOneProcessAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := make(chan string, 9)
		t.Cleanup(func() { // before which the process ends: it was made later
			close(log)
			var happened []string
			for one := range log {
				happened = append(happened, one)
			}
			if want := []string{"1 met a", "end 1", "2 met a", "end 2"}; !slices.Equal(happened, want) {
				t.Errorf("happened %q, want %q", happened, want)
			}
		})
		process, client := workerpooltest.New(t), workerpooltest.NewClient(nodeA())
		for n := range 2 {
			process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
				_, err := factory.Core().V1().Nodes().Informer().
					AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
						if node, ok := object.(*corev1.Node); ok {
							log <- fmt.Sprintf("%d met %s", n+1, node.Name)
						}
					}})
				return func(ctx context.Context) {
					<-ctx.Done()
					<-time.After(time.Second) // what is under way
					log <- fmt.Sprintf("end %d", n+1)
				}, err
			})
			workerpooltest.Pass(time.Second)
		}
	})
}

// TestAProcessEnds once, when End is called.
func TestAProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, ended := workerpooltest.New(t), 0
		process.End() // before it began
		process.Begin(workerpooltest.NewClient(), func(informers.SharedInformerFactory) (func(context.Context), error) {
			return func(ctx context.Context) { <-ctx.Done(); ended++ }, nil
		})
		for range 2 {
			process.End()
			if ended != 1 {
				t.Errorf("it has ended %d times", ended)
			}
		}
	})
}

func TestWhatIsTold(t *testing.T) {
	process := workerpooltest.New(t)
	record := func() {
		process.Recorder.Event(nodeA(), corev1.EventTypeWarning, "Broken", "It is broken.")
		process.Recorder.Event(nodeA(), corev1.EventTypeNormal, "Again", "It is well again.")
	}
	record()
	if got, want := process.Events(), []string{"Warning Broken It is broken.",
		"Normal Again It is well again."}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if got := process.Events(); len(got) > 0 {
		t.Errorf("events %q twice", got)
	}
	record()
	if got, want := process.Reasons(), []string{"Again", "Broken"}; !slices.Equal(got, want) {
		t.Errorf("reasons %q, want %q", got, want)
	}
}

func TestTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, happened := time.Now(), false
		time.AfterFunc(time.Hour, func() { happened = true })
		workerpooltest.Pass(time.Hour)
		if since := time.Since(start); since != time.Hour || !happened {
			t.Errorf("after %v, what was due happened: %t", since, happened)
		}
	})
}

func TestNodesChange(t *testing.T) {
	client := workerpooltest.NewClient(nodeA())
	for _, want := range []string{"1", "2"} {
		workerpooltest.ChangeNode(t, client, "a", func(node *corev1.Node) { node.Spec.ProviderID = "cloud://" + want })
		if node := workerpooltest.Node(t, client, "a"); node.ResourceVersion != want ||
			node.Spec.ProviderID != "cloud://"+want {
			t.Errorf("the Node is %s, in version %s; want cloud://%s, in version %s", node.Spec.ProviderID,
				node.ResourceVersion, want, want)
		}
	}
	workerpooltest.DeleteNode(t, client, "a")
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after it was deleted: %v", err)
	}
}
