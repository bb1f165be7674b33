// Package event decides what is told of objects by events: each thing once, again when it lasts, and of many objects not all at a time.
//
//	for _, n := range told.Note(node.Name, node.UID, notices) {
//		recorder.Event(node, corev1.EventTypeWarning, n.Reason, n.Message)
//	}
package event

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// Again is when something that lasts is told again: the API server keeps events for an hour.
const Again = 55 * time.Minute

// Burst is how many events are made at a time, and how many more each minute: what all of five thousand objects have is told of the others
// later on.
const Burst = 25

// Notice is something to tell of an object.
type Notice struct {
	Reason  string // of the event
	Message string
	// Vague says that the message changes from one attempt to the next: notices of one reason are the same.
	Vague bool
	// Common says that it is nothing of the object's own: it is told of one object for all of them.
	Common bool
}

// topic is what makes two notices the same.
type topic struct{ reason, message string }

func (n Notice) topic() topic {
	if n.Vague {
		return topic{reason: n.Reason}
	}
	return topic{n.Reason, n.Message}
}

// Log is what lasts, and what of it was told. The zero value is that nothing does. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	voice   *rate.Limiter
	objects map[string]object
	common  map[string]time.Time // by reason
}

// object is what is known of one.
type object struct {
	uid  types.UID
	told map[topic]time.Time // zero: not yet
}

// Note keeps all that is to be told of an object, none for nothing any more, and returns those that are to be told now. Who has to tell
// something that lasts calls it from time to time. Another object of the same name has another uid.
func (l *Log) Note(name string, uid types.UID, notices []Notice) (now []Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects == nil {
		l.voice, l.objects, l.common = rate.NewLimiter(rate.Every(time.Minute/Burst), Burst), map[string]object{}, map[string]time.Time{}
	}
	before := l.objects[name]
	if before.uid != uid {
		before.told = nil
	}
	after := object{uid: uid, told: map[topic]time.Time{}}
	for _, one := range notices {
		key := one.topic()
		if _, twice := after.told[key]; twice {
			continue
		}
		at, aloud := before.told[key], false
		if !recent(at) {
			at, aloud = l.speak(one)
		}
		if aloud {
			now = append(now, one)
		}
		after.told[key] = at
	}
	l.objects[name] = after
	if len(notices) == 0 {
		delete(l.objects, name)
	}
	return now
}

// recent says of the time at which something was told that this is enough.
func recent(at time.Time) bool { return time.Since(at) < Again }

// speak says whether something is told now, and when it then was. It wants mu held.
func (l *Log) speak(n Notice) (at time.Time, aloud bool) {
	now := time.Now()
	switch {
	case n.Common && recent(l.common[n.Reason]):
		return now, false
	case !l.voice.AllowN(now, 1):
		return time.Time{}, false
	case n.Common:
		l.common[n.Reason] = now
	}
	return now, true
}

// Known says whether these, and no others, are what is known of an object, and were told lately.
func (l *Log) Known(name string, notices []Notice) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.objects[name].told
	for _, one := range notices {
		if !recent(told[one.topic()]) {
			return false
		}
	}
	return len(told) == len(notices)
}

// Forget drops what is known of an object: when it happens again, it is told again.
func (l *Log) Forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, name)
}

// Retain forgets the objects that are not there any more.
func (l *Log) Retain(there func(uid types.UID) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.objects, func(_ string, o object) bool { return !there(o.uid) })
}

// Reasons counts the objects by the reasons of what is known of them.
func (l *Log) Reasons() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := map[string]int{}
	for _, one := range l.objects {
		reasons := map[string]bool{}
		for key := range one.told {
			reasons[key.reason] = true
		}
		for reason := range reasons {
			count[reason]++
		}
	}
	return count
}
