package pod

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	host = netip.MustParseAddr("127.0.0.2")
	own  = netip.MustParseAddr("10.244.1.2")
)

// state is a container status in words: "creating", "running", "unready", "0" or "1" for the exit
// status of one that has ended, "backoff".
func state(name, word string) corev1.ContainerStatus {
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	s := corev1.ContainerStatus{Name: name, Ready: word == "running"}
	switch word {
	case "running", "unready":
		s.State.Running = &corev1.ContainerStateRunning{}
	case "0":
		s.State = ended(0)
	case "1":
		s.State = ended(1)
	case "backoff":
		s.State.Waiting, s.LastTerminationState = &corev1.ContainerStateWaiting{}, ended(1)
	default:
		s.State.Waiting = &corev1.ContainerStateWaiting{}
	}
	return s
}

func states(words string) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i, word := range strings.Fields(words) {
		out = append(out, state(string(rune('a'+i)), word))
	}
	return out
}

func TestPhase(t *testing.T) {
	always, onFailure, never := corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	tests := []struct {
		name       string
		policy     corev1.RestartPolicy
		containers string
		over       bool
		want       corev1.PodPhase
	}{
		{"creating", always, "creating", false, corev1.PodPending},
		{"one of two creating", always, "running creating", false, corev1.PodPending},
		{"running", always, "running", false, corev1.PodRunning},
		{"unready", always, "unready", false, corev1.PodRunning},
		{"back-off", always, "backoff", false, corev1.PodRunning},
		{"ended, will restart", always, "0", false, corev1.PodRunning},
		{"job done", onFailure, "0 0", false, corev1.PodSucceeded},
		{"job half done", onFailure, "0 running", false, corev1.PodRunning},
		{"job failed, will restart", onFailure, "1", false, corev1.PodRunning},
		{"never, failed", never, "0 1", false, corev1.PodFailed},
		{"never, done", never, "0 0", false, corev1.PodSucceeded},
		{"stopped well", always, "0 0", true, corev1.PodSucceeded},
		{"stopped badly", always, "0 1", true, corev1.PodFailed},
		{"stopped in back-off", always, "backoff", true, corev1.PodFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: tt.policy}}
			o := observed{containers: states(tt.containers), over: tt.over}
			if got := phase(pod, o); got != tt.want {
				t.Errorf("phase = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	plain := &corev1.Pod{}
	tests := []struct {
		name  string
		pod   *corev1.Pod
		o     observed
		phase corev1.PodPhase
		want  string
	}{
		{"waiting for an address", plain, observed{containers: states("creating")}, corev1.PodPending,
			"Initialized PodScheduled; " +
				"ContainersNotReady containers with unready status: [a]"},
		{"running", plain, observed{addr: own, containers: states("running")}, corev1.PodRunning,
			"PodReadyToStartContainers Initialized Ready ContainersReady PodScheduled; "},
		{"one unready", plain, observed{addr: own, containers: states("running unready")}, corev1.PodRunning,
			"PodReadyToStartContainers Initialized PodScheduled; " +
				"ContainersNotReady containers with unready status: [b]"},
		{"done", plain, observed{addr: own, containers: states("0")}, corev1.PodSucceeded,
			"Initialized PodScheduled; PodCompleted "},
		{"failed", plain, observed{addr: own, containers: states("1")}, corev1.PodFailed,
			"Initialized PodScheduled; PodFailed "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := words(conditions(tt.pod, tt.o, tt.phase))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// words are the conditions that are true, then the reason and message of Ready.
func words(conditions []corev1.PodCondition) string {
	var met []string
	why := ""
	for _, c := range conditions {
		if c.Status == corev1.ConditionTrue {
			met = append(met, string(c.Type))
		} else if c.Type == corev1.PodReady {
			why = c.Reason + " " + c.Message
		}
	}
	return strings.Join(met, " ") + "; " + why
}

func TestStatus(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 3},
		Status: corev1.PodStatus{QOSClass: corev1.PodQOSBurstable}}
	before, now := time.Unix(1000, 0), time.Unix(2000, 0)
	o := observed{began: before, host: host, addr: own, containers: states("running")}
	previous := status(pod, observed{began: before, host: host, containers: states("creating")}, nil, before)
	if previous.PodIP != "" || previous.PodIPs != nil || previous.HostIP != "127.0.0.2" {
		t.Errorf("without an address: %+v", previous)
	}
	got := status(pod, o, previous.Conditions, now)
	if got.PodIP != "10.244.1.2" || len(got.PodIPs) != 1 || len(got.HostIPs) != 1 || got.ObservedGeneration != 3 ||
		got.QOSClass != corev1.PodQOSBurstable || !got.StartTime.Time.Equal(before) {
		t.Errorf("status = %+v", got)
	}
	for _, c := range got.Conditions {
		want := before
		if c.Type == corev1.PodReady || c.Type == corev1.ContainersReady || c.Type == corev1.PodReadyToStartContainers {
			want = now
		}
		if !c.LastTransitionTime.Time.Equal(want) || c.ObservedGeneration != 3 {
			t.Errorf("condition %s changed at %s, want %s", c.Type, c.LastTransitionTime, want)
		}
	}
}
