package container

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// logMessage is how much of a log a termination message shows: kubelet's bound for
// terminationMessagePolicy FallbackToLogsOnError.
const logMessage = 2048

func (k *Container) waiting(reason, message string) {
	k.change(func(s *corev1.ContainerStatus) {
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
		}
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

func (k *Container) running(began time.Time) {
	k.change(func(s *corev1.ContainerStatus) {
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
		}
		if k.runs > 0 {
			s.RestartCount++
		}
		k.runs++
		s.ContainerID = fmt.Sprintf("virtual://%s/%s/%d", k.config.Pod, s.Name, s.RestartCount)
		s.ImageID = s.Image
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(began)}}
	})
	k.config.Event(corev1.EventTypeNormal, "Started", "Started container "+k.config.Spec.Name)
}

func (k *Container) terminated(began time.Time, exit Exit) {
	t := &corev1.ContainerStateTerminated{
		ExitCode: exit.Code, Signal: exit.Signal, Reason: "Error",
		StartedAt: metav1.NewTime(began), FinishedAt: metav1.Now(),
	}
	if exit.Code == 0 {
		t.Reason = "Completed"
	} else if k.config.Spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		t.Message = exit.Log[max(0, len(exit.Log)-logMessage):]
	}
	k.change(func(s *corev1.ContainerStatus) {
		t.ContainerID = s.ContainerID
		s.State = corev1.ContainerState{Terminated: t}
		k.ready = false
	})
}

// setReady records what the readiness probe says.
func (k *Container) setReady(ok bool) {
	k.change(func(*corev1.ContainerStatus) { k.ready = ok })
}

// change applies a change and derives what follows from it.
func (k *Container) change(apply func(*corev1.ContainerStatus)) {
	k.mu.Lock()
	apply(&k.status)
	started := k.status.State.Running != nil
	k.status.Started = &started
	k.status.Ready = started && (k.ready || k.config.Spec.ReadinessProbe == nil)
	k.mu.Unlock()
	k.config.Changed()
}
