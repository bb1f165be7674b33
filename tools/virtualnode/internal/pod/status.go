package pod

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observed is what the node knows about a pod.
type observed struct {
	began time.Time
	// host is the node's address; addr the pod's own, not valid before it has one.
	host, addr netip.Addr
	init, main []corev1.ContainerStatus
	// initialized is true once all init containers have succeeded.
	initialized bool
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
		InitContainerStatuses: o.init, ContainerStatuses: o.main, QOSClass: pod.Status.QOSClass,
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
	never := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	if !o.initialized {
		if o.over || never && slices.ContainsFunc(o.init, failed) {
			return corev1.PodFailed
		}
		return corev1.PodPending
	}
	count := tally(o.main)
	switch {
	case o.over && count.succeeded == len(o.main):
		return corev1.PodSucceeded
	case o.over:
		return corev1.PodFailed
	case count.waiting > 0:
		return corev1.PodPending
	case count.running > 0, pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.PodRunning
	case count.succeeded == len(o.main):
		return corev1.PodSucceeded
	case never:
		return corev1.PodFailed
	default:
		return corev1.PodRunning
	}
}

type counts struct{ waiting, running, stopped, succeeded int }

// tally counts containers by state. One that waits for its restart counts as stopped.
func tally(containers []corev1.ContainerStatus) counts {
	var c counts
	for _, s := range containers {
		switch {
		case s.State.Running != nil:
			c.running++
		case s.State.Terminated != nil:
			c.stopped++
			if s.State.Terminated.ExitCode == 0 {
				c.succeeded++
			}
		case s.LastTerminationState.Terminated != nil:
			c.stopped++
		default:
			c.waiting++
		}
	}
	return c
}

func failed(s corev1.ContainerStatus) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
}

// conditions returns the conditions that a node owns. Their reasons are kubelet's.
func conditions(pod *corev1.Pod, o observed, p corev1.PodPhase) []corev1.PodCondition {
	done := map[corev1.PodPhase]string{corev1.PodSucceeded: "PodCompleted", corev1.PodFailed: "PodFailed"}[p]
	network := condition(corev1.PodReadyToStartContainers, o.addr.IsValid() && done == "", "", "")
	initialized := condition(corev1.PodInitialized, o.initialized, "ContainersNotInitialized", names("incomplete", o.init, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil || s.State.Terminated.ExitCode != 0
	}))
	unready := names("unready", o.main, func(s corev1.ContainerStatus) bool { return !s.Ready })
	containers := condition(corev1.ContainersReady, o.initialized && unready == "" && done == "", "ContainersNotReady", unready)
	if done != "" {
		containers.Reason, containers.Message = done, ""
	}
	ready := containers
	ready.Type = corev1.PodReady
	if gates := openGates(pod); containers.Status == corev1.ConditionTrue && len(gates) > 0 {
		ready = condition(corev1.PodReady, false, "ReadinessGatesNotReady", "corresponding condition of pod readiness gate does not exist or is not True: "+strings.Join(gates, ", "))
	}
	scheduled := condition(corev1.PodScheduled, true, "", "")
	all := []corev1.PodCondition{network, initialized, ready, containers, scheduled}
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

// names words which containers are to blame, empty for none.
func names(word string, containers []corev1.ContainerStatus, blame func(corev1.ContainerStatus) bool) string {
	var found []string
	for _, s := range containers {
		if blame(s) {
			found = append(found, s.Name)
		}
	}
	if found == nil {
		return ""
	}
	return fmt.Sprintf("containers with %s status: [%s]", word, strings.Join(found, " "))
}

// openGates returns the readiness gates of a pod that are not true.
func openGates(pod *corev1.Pod) []string {
	var open []string
	for _, gate := range pod.Spec.ReadinessGates {
		passed := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !passed {
			open = append(open, string(gate.ConditionType))
		}
	}
	return open
}

func keepTime(c *corev1.PodCondition, previous []corev1.PodCondition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now)
	for _, p := range previous {
		if p.Type == c.Type && p.Status == c.Status && !p.LastTransitionTime.IsZero() {
			c.LastTransitionTime = p.LastTransitionTime
		}
	}
}
