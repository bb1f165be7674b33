package requestlog

import (
	"slices"
	"testing"
)

func TestLogOfWritesIsBounded(t *testing.T) {
	var l Log
	for i := range maxWrites + 1 {
		l.Write(Write{Status: i})
	}
	if len(l.writes) > maxWrites || l.writes[len(l.writes)-1].Status != maxWrites {
		t.Errorf("%d writes are kept, the last is %d; want at most %d, and the newest", len(l.writes),
			l.writes[len(l.writes)-1].Status, maxWrites)
	}
	if !slices.IsSortedFunc(l.writes, func(a, b Write) int { return a.Status - b.Status }) {
		t.Error("the log is out of order")
	}
}
