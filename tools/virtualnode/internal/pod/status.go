package pod

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observed is what the node has observed of a pod.
type observed struct {
	began time.Time
	// host is the node's address; addr the pod's own, not valid before it has one.
	host, addr netip.Addr
	container  corev1.ContainerStatus
}

// status returns the status that kubelet would report. The times of conditions that did not change
// are taken from previous.
func status(pod *corev1.Pod, o observed, previous []corev1.PodCondition, now time.Time) corev1.PodStatus {
	began := metav1.NewTime(o.began)
	s := corev1.PodStatus{
		Phase: phase(o.container), StartTime: &began, ObservedGeneration: pod.Generation,
		HostIP: o.host.String(), HostIPs: []corev1.HostIP{{IP: o.host.String()}},
		ContainerStatuses: []corev1.ContainerStatus{o.container}, QOSClass: pod.Status.QOSClass,
	}
	if o.addr.IsValid() {
		s.PodIP, s.PodIPs = o.addr.String(), []corev1.PodIP{{IP: o.addr.String()}}
	}
	s.Conditions = conditions(pod, o)
	for i := range s.Conditions {
		keepTime(&s.Conditions[i], previous, now)
	}
	return s
}

// phase follows kubelet's getPhase for containers that always restart. One that waits for its restart has run.
func phase(c corev1.ContainerStatus) corev1.PodPhase {
	if c.State.Waiting != nil && c.LastTerminationState.Terminated == nil {
		return corev1.PodPending
	}
	return corev1.PodRunning
}

// conditions returns the conditions that a node owns. Their reasons are kubelet's.
func conditions(pod *corev1.Pod, o observed) []corev1.PodCondition {
	unready := fmt.Sprintf("containers with unready status: [%s]", o.container.Name)
	containers := condition(corev1.ContainersReady, o.container.Ready, "ContainersNotReady", unready)
	ready := containers
	ready.Type = corev1.PodReady
	all := []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, o.addr.IsValid(), "", ""),
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

func keepTime(c *corev1.PodCondition, previous []corev1.PodCondition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now)
	for _, p := range previous {
		if p.Type == c.Type && p.Status == c.Status && !p.LastTransitionTime.IsZero() {
			c.LastTransitionTime = p.LastTransitionTime
		}
	}
}
