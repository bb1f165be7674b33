package thalassa

import (
	"testing"
	"testing/synctest"
)

// TestLabelRemovedByHandWhileTheAnnotationCannotBeRead: what the Service asks for is not known then, so the labels stay
// as they are.
func TestLabelRemovedByHandWhileTheAnnotationCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes := l.nodes("a")
		l.settle(serviceWith(annotated("labels", "team=shop,stage=test")), nodes)
		l.putBalancer(func(body map[string]any) {
			labels := l.only().Labels
			delete(labels, "team")
			body["labels"] = labels
		})
		l.restart()
		l.emulator.ResetCounters()
		l.settle(serviceWith(annotated("labels", "team=shop=test")), nodes)
		labels := l.only().Labels
		if value, present := labels["team"]; present || labels["stage"] != "test" {
			t.Errorf("label team is there: %v, with the value %q, in %v; want it gone and the others kept", present,
				value, labels)
		}
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("writes %v, want none", writes)
		}
		l.settle(serviceWith(annotated("labels", "team=shop,stage=test")), nodes)
		if got := l.only().Labels["team"]; got != "shop" {
			t.Errorf("the annotation can be read again: label team is %q, want shop", got)
		}
	})
}
