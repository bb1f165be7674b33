package pod

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observed is what the node has observed of a pod.
type observed struct {
	began time.Time
	// host is the node's address; addr the pod's own, not valid before it has one.
	host, addr netip.Addr
	containers []corev1.ContainerStatus
	// over is true once the pod was stopped for good.
	over bool
}

// status returns the status that kubelet would report. The times of conditions that did not change
// are taken from previous.
func status(pod *corev1.Pod, o observed, previous []corev1.PodCondition, now time.Time) corev1.PodStatus {
	began := metav1.NewTime(o.began)
	s := corev1.PodStatus{
		Phase: phase(pod, o), StartTime: &began, ObservedGeneration: pod.Generation,
		HostIP: o.host.String(), HostIPs: []corev1.HostIP{{IP: o.host.String()}},
		ContainerStatuses: o.containers, QOSClass: pod.Status.QOSClass,
	}
	if o.addr.IsValid() {
		s.PodIP, s.PodIPs = o.addr.String(), []corev1.PodIP{{IP: o.addr.String()}}
	}
	s.Conditions = conditions(pod, o, s.Phase)
	for i := range s.Conditions {
		keepTime(&s.Conditions[i], previous, now)
	}
	return s
}

// phase follows kubelet's getPhase.
func phase(pod *corev1.Pod, o observed) corev1.PodPhase {
	count := tally(o.containers)
	succeeded := count.succeeded == len(o.containers)
	switch {
	case o.over && succeeded:
		return corev1.PodSucceeded
	case o.over:
		return corev1.PodFailed
	case count.waiting > 0:
		return corev1.PodPending
	case count.running > 0, pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.PodRunning
	case succeeded:
		return corev1.PodSucceeded
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return corev1.PodFailed
	default:
		return corev1.PodRunning
	}
}

type counts struct{ waiting, running, succeeded int }

// tally counts containers by state. One that waits for its restart counts as stopped.
func tally(containers []corev1.ContainerStatus) counts {
	var c counts
	for _, s := range containers {
		switch {
		case s.State.Running != nil:
			c.running++
		case s.State.Terminated != nil:
			if s.State.Terminated.ExitCode == 0 {
				c.succeeded++
			}
		case s.LastTerminationState.Terminated == nil:
			c.waiting++
		}
	}
	return c
}

// conditions returns the conditions that a node owns. Their reasons are kubelet's.
func conditions(pod *corev1.Pod, o observed, p corev1.PodPhase) []corev1.PodCondition {
	done := map[corev1.PodPhase]string{corev1.PodSucceeded: "PodCompleted", corev1.PodFailed: "PodFailed"}[p]
	containers := condition(corev1.ContainersReady, done == "", done, "")
	if unready := unready(o.containers); unready != "" && done == "" {
		containers = condition(corev1.ContainersReady, false, "ContainersNotReady", unready)
	}
	ready := containers
	ready.Type = corev1.PodReady
	all := []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, o.addr.IsValid() && done == "", "", ""),
		condition(corev1.PodInitialized, true, "", ""), ready, containers, condition(corev1.PodScheduled, true, "", ""),
	}
	for i := range all {
		all[i].ObservedGeneration = pod.Generation
	}
	return all
}

func condition(t corev1.PodConditionType, ok bool, reason, message string) corev1.PodCondition {
	if ok {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue}
	}
	return corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
}

// unready says which containers are not ready, empty for none.
func unready(containers []corev1.ContainerStatus) string {
	var found []string
	for _, s := range containers {
		if !s.Ready {
			found = append(found, s.Name)
		}
	}
	if found == nil {
		return ""
	}
	return fmt.Sprintf("containers with unready status: [%s]", strings.Join(found, " "))
}

func keepTime(c *corev1.PodCondition, previous []corev1.PodCondition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now)
	for _, p := range previous {
		if p.Type == c.Type && p.Status == c.Status && !p.LastTransitionTime.IsZero() {
			c.LastTransitionTime = p.LastTransitionTime
		}
	}
}
