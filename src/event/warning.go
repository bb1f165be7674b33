// Package event decides which warnings about objects become events: each once, again while it lasts, and those of many
// objects not all at the same time.
//
//	warnings.Record(recorder, node, current)
package event

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// Again is the time after which a warning that lasts becomes an event again: the API server keeps events for an hour.
const Again = 55 * time.Minute

// Anew is the time after which a warning with a topic becomes an event again if its message has changed.
const Anew = 10 * time.Minute

// Burst is the number of events at a time, and the number of further ones each minute. If all of five thousand objects
// have a warning, the events of the others follow later.
const Burst = 25

// Warning is a condition of an object that its owner should know.
type Warning struct {
	Reason  string // of the event
	Message string
	// Vague says that the message changes with each attempt and is ignored when warnings are compared.
	Vague bool
	// Topic, if it is set, identifies the condition in place of the message. A changed message then becomes an event
	// again after Anew, unless the warning is vague.
	Topic string
	// Common says that the condition does not concern the object alone: there is one event for all objects.
	Common bool
}

// key is what two warnings about the same condition have in common.
type key struct{ reason, text string }

func (w Warning) key() key {
	switch {
	case w.Topic != "":
		return key{w.Reason, w.Topic}
	case w.Vague:
		return key{reason: w.Reason}
	}
	return key{w.Reason, w.Message}
}

// Filter contains the warnings that last, and when each became an event. The zero value contains none. It is safe for
// concurrent use.
type Filter struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	objects map[string]object
	common  map[string]time.Time // by reason
}

// object is the state of one object.
type object struct {
	uid      types.UID
	recorded map[key]lastEvent
}

// lastEvent is the latest event of a warning.
type lastEvent struct {
	at      time.Time // zero: there was none yet
	message string
}

// recent says that no further event of the warning is due.
func (r lastEvent) recent(w Warning) bool {
	changed := w.Topic != "" && !w.Vague && r.message != w.Message
	return recent(r.at) && (!changed || time.Since(r.at) < Anew)
}

// recent says of the time of an event that no further one is due.
func recent(at time.Time) bool { return time.Since(at) < Again }

// Update replaces the warnings of an object, and returns those that are to become events now. While a warning lasts,
// the caller repeats the call from time to time. An object of the same name with another UID is another object.
func (f *Filter) Update(name string, uid types.UID, warnings []Warning) (now []Warning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, after := f.object(name, uid), object{uid: uid, recorded: map[key]lastEvent{}}
	for _, w := range warnings {
		if _, twice := after.recorded[w.key()]; twice {
			continue
		}
		latest, due := f.next(before.recorded[w.key()], w)
		if due {
			now = append(now, w)
		}
		after.recorded[w.key()] = latest
	}
	f.objects[name] = after
	if len(warnings) == 0 {
		delete(f.objects, name)
	}
	return now
}

// Record replaces the warnings of a Node, and records those that are to become events now.
func (f *Filter) Record(recorder record.EventRecorder, node *corev1.Node, warnings []Warning) {
	for _, w := range f.Update(node.Name, node.UID, warnings) {
		recorder.Event(node, corev1.EventTypeWarning, w.Reason, w.Message)
	}
}

// Add adds a warning to those of an object, and reports whether it is to become an event now. Unlike with Update, the
// other warnings of the object remain until Forget.
func (f *Filter) Add(name string, uid types.UID, w Warning) (now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.object(name, uid)
	one.recorded[w.key()], now = f.next(one.recorded[w.key()], w)
	f.objects[name] = one
	return now
}

// object returns the state of an object. The caller holds mu.
func (f *Filter) object(name string, uid types.UID) object {
	if f.objects == nil {
		f.limiter, f.objects, f.common = rate.NewLimiter(rate.Every(time.Minute/Burst), Burst), map[string]object{},
			map[string]time.Time{}
	}
	if one, known := f.objects[name]; known && one.uid == uid {
		return one
	}
	return object{uid: uid, recorded: map[key]lastEvent{}}
}

// next reports whether a warning is to become an event now, and returns its latest event. The caller holds mu.
func (f *Filter) next(latest lastEvent, w Warning) (_ lastEvent, due bool) {
	now := time.Now()
	switch {
	case latest.recent(w):
		return latest, false
	case w.Common && recent(f.common[w.Reason]):
		return lastEvent{now, w.Message}, false
	case !f.limiter.AllowN(now, 1):
		return lastEvent{}, false
	case w.Common:
		f.common[w.Reason] = now
	}
	return lastEvent{now, w.Message}, true
}

// Known reports whether these warnings, and no others, are those of an object, and none is to become an event now.
func (f *Filter) Known(name string, warnings []Warning) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	recorded := f.objects[name].recorded
	for _, w := range warnings {
		if !recorded[w.key()].recent(w) {
			return false
		}
	}
	return len(recorded) == len(warnings)
}

// Forget deletes the warnings of an object: if one occurs again, it becomes an event again.
func (f *Filter) Forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.objects, name)
}

// Retain deletes the objects that do not exist any more.
func (f *Filter) Retain(exists func(uid types.UID) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.objects, func(_ string, o object) bool { return !exists(o.uid) })
}

// Reasons counts the objects by the reasons of their warnings.
func (f *Filter) Reasons() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := map[string]int{}
	for _, one := range f.objects {
		reasons := map[string]bool{}
		for key := range one.recorded {
			reasons[key.reason] = true
		}
		for reason := range reasons {
			count[reason]++
		}
	}
	return count
}
