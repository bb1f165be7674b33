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

// state is a container status in words: "creating", "running", "unready", "0" for one that has ended well, "backoff".
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
	case "backoff":
		s.State.Waiting, s.LastTerminationState = &corev1.ContainerStateWaiting{}, ended(1)
	default:
		s.State.Waiting = &corev1.ContainerStateWaiting{}
	}
	return s
}

func TestPhase(t *testing.T) {
	for word, want := range map[string]corev1.PodPhase{
		"creating": corev1.PodPending, "running": corev1.PodRunning, "unready": corev1.PodRunning,
		"backoff": corev1.PodRunning, "0": corev1.PodRunning,
	} {
		if got := phase(state("a", word)); got != want {
			t.Errorf("phase of one that is %s = %s, want %s", word, got, want)
		}
	}
}

func TestConditions(t *testing.T) {
	const unready = "ContainersNotReady containers with unready status: [a]"
	for want, o := range map[string]observed{
		"Initialized PodScheduled; " + unready:                           {container: state("a", "creating")},
		"PodReadyToStartContainers Initialized PodScheduled; " + unready: {addr: own, container: state("a", "unready")},
		"PodReadyToStartContainers Initialized Ready ContainersReady PodScheduled; ": {addr: own,
			container: state("a", "running")},
	} {
		if diff := cmp.Diff(want, words(conditions(&corev1.Pod{}, o))); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
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
	o := observed{began: before, host: host, addr: own, container: state("a", "running")}
	previous := status(pod, observed{began: before, host: host, container: state("a", "creating")}, nil, before)
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
