package pod

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// writeRetry is the pause after a write that failed.
const writeRetry = time.Second

// reporter keeps the status of one pod object as the node sees it. Changes that come faster than
// the API server takes them are written together.
type reporter struct {
	node    *Node
	observe func() (*corev1.Pod, observed)
	signal  chan struct{}

	mu         sync.Mutex
	written    []byte // the last status that the API server took
	version    string // the resource version that it gave it
	conditions []corev1.PodCondition
}

func newReporter(n *Node, observe func() (*corev1.Pod, observed)) *reporter {
	return &reporter{node: n, observe: observe, signal: make(chan struct{}, 1)}
}

// changed says that there may be something to write.
func (r *reporter) changed() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// seen compares what others see with what was written: the node life cycle controller, for
// example, calls the pods of a silent node not ready. An object older than our own write is ignored.
func (r *reporter) seen(pod *corev1.Pod) {
	defer r.changed()
	r.mu.Lock()
	defer r.mu.Unlock()
	if age, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, r.version); err == nil && age < 0 {
		return
	}
	for _, c := range pod.Status.Conditions {
		for _, own := range r.conditions {
			if own.Type == c.Type && own.Status != c.Status {
				r.written = nil
			}
		}
	}
}

// run writes until ctx ends.
func (r *reporter) run(ctx context.Context) {
	r.changed()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.signal:
		}
		if err := r.write(ctx); err != nil && ctx.Err() == nil {
			r.node.Logger.Warn("writing the status of a pod; trying again", "error", err)
			time.AfterFunc(writeRetry, r.changed)
		}
	}
}

// write is called by run alone.
func (r *reporter) write(ctx context.Context) error {
	r.mu.Lock()
	written, previous := r.written, r.conditions
	r.mu.Unlock()
	pod, o := r.observe()
	if previous == nil {
		previous = pod.Status.Conditions
	}
	next := status(pod, o, previous, time.Now())
	body, err := json.Marshal(map[string]any{
		// The UID makes the API server refuse when the name belongs to another pod by now.
		"metadata": map[string]any{"uid": pod.UID},
		"status":   next,
	})
	if err != nil {
		return fmt.Errorf("encoding the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if bytes.Equal(body, written) {
		return nil
	}
	got, err := r.node.Machine.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
		body, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("writing the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written, r.version, r.conditions = body, got.ResourceVersion, next.Conditions
	return nil
}
