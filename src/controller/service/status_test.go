package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

func web() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web",
		Finalizers: []string{"example.com/other"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
}

// TestProvisionedConditions: the conditions about the load balancer depend on the outcome. Conditions that are not
// returned do not change.
func TestProvisionedConditions(t *testing.T) {
	failed := errors.New("quota exceeded")
	wait := cloud.Busy("creating", time.Minute)
	later := cloud.Reason{Err: failed, Until: time.Minute}
	tests := map[string]struct {
		outcome outcome
		message string
		want    string
	}{
		"as it should be":   {outcome{}, "", "Provisioned True Provisioned; Synced True AsWanted"},
		"drift is reported": {outcome{err: errDriftReported, serving: true}, "", ""},
		"it is waited for":  {outcome{err: wait}, "", "Provisioned False Waiting creating"},
		"it is waited for, as was said": {outcome{err: wait, serving: true}, "lb is updating",
			"Provisioned False Waiting lb is updating"},
		"more is to be written": {outcome{err: wait, serving: true}, "", ""},
		"it fails": {outcome{err: failed}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
		"it fails while it serves": {outcome{err: failed, serving: true}, "",
			"Synced False Failed quota exceeded"},
		"something is refused, and it serves": {outcome{err: failed, partlyInSync: true}, "",
			"Provisioned True Provisioned; Synced False Failed quota exceeded"},
		"the cloud is away": {outcome{err: failed, transient: true}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
		"the cloud is away while it serves": {outcome{err: failed, transient: true, serving: true}, "", ""},
		"the cloud requests a later retry":  {outcome{err: later, serving: true, transient: true}, "", ""},
		"the cloud requests that, and never served": {outcome{err: later, transient: true}, "",
			"Provisioned False Failed quota exceeded; Synced False Failed quota exceeded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &serviceState{}
			s.wait.message = tt.message
			if got := conditionTexts(s.provisionedConditions(tt.outcome)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// conditionTexts returns conditions as one line.
func conditionTexts(conditions []metav1.Condition) string {
	words := make([]string, len(conditions))
	for i, one := range conditions {
		words[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(one.Type, "LoadBalancer"),
			one.Status, one.Reason, one.Message))
	}
	return strings.Join(words, "; ")
}

// TestConditions: the conditions of notices are written only after a diff, and the condition of drift only if there was
// drift.
func TestConditions(t *testing.T) {
	notices := []cloud.Notice{
		{Topic: cloud.Settings, Reason: "Wrong", Message: "One."}, {Topic: cloud.Nodes, Reason: "Left",
			Message: "Two."},
		{Topic: cloud.Settings, Reason: "Wrong", Message: "Three."},
	}
	drifted := []metav1.Condition{{Type: conditionDrifted, Status: metav1.ConditionTrue}}
	tests := map[string]struct {
		compared bool
		notices  []cloud.Notice
		drift    string
		before   []metav1.Condition
		want     string
	}{
		"before the first comparison": {false, notices, "", nil, ""},
		"nothing is wrong":            {true, nil, "", nil, "ConfigValid True AsWanted; TargetsComplete True AsWanted"},
		"notices": {true, notices, "", nil,
			"ConfigValid False Wrong One. Three.; TargetsComplete False Left Two."},
		"drift":               {false, nil, "ports", nil, "Drifted True LoadBalancerDrifted ports"},
		"drift that was":      {false, nil, "", drifted, "Drifted False AsWanted"},
		"drift that still is": {false, nil, "ports", drifted, "Drifted True LoadBalancerDrifted ports"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Generation: 3},
				Status: corev1.ServiceStatus{Conditions: tt.before}}
			s := &serviceState{}
			s.notices, s.drift.summary = tt.notices, tt.drift
			if tt.compared {
				s.service = service
			}
			conditions := s.conditions(service, outcome{err: errDriftReported})
			if got := conditionTexts(conditions); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, one := range conditions {
				if one.ObservedGeneration != 3 {
					t.Errorf("condition %s is of generation %d", one.Type, one.ObservedGeneration)
				}
			}
		})
	}
}
