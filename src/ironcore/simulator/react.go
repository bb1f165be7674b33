package simulator

import (
	"slices"
	"strings"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// react lets IronCore's controllers and the network provider react to a change. Old is nil if the object is new. The
// server is locked.
func (s *Simulator) react(event watch.EventType, object, old Object) {
	s.collectGarbage(event, object)
	switch o := object.(type) {
	case *networkingv1alpha1.Network:
		s.protectNetwork(keyOf(o))
	case *networkingv1alpha1.LoadBalancer:
		s.protectNetwork(key{o.Namespace, o.Spec.NetworkRef.Name})
		if event == watch.Deleted {
			s.network.pool.Release(o.UID, nil)
			delete(s.network.prefixes, o.UID)
			delete(s.network.carried, o.UID)
			break
		}
		s.provisionBalancer(o)
		s.route(keyOf(o))
	case *networkingv1alpha1.NetworkInterface:
		s.protectNetwork(key{o.Namespace, o.Spec.NetworkRef.Name})
		if event != watch.Deleted {
			s.provisionInterface(o)
		}
		before, _ := old.(*networkingv1alpha1.NetworkInterface)
		s.routeInterface(o, before)
	case *networkingv1alpha1.LoadBalancerRouting:
		s.routeOwner(o)
	}
}

// in runs a function with the locked server after some time, or at once.
func (s *Simulator) in(d time.Duration, then func()) {
	if d <= 0 {
		then()
		return
	}
	time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		then()
	})
}

// collectGarbage deletes the objects whose controller is gone.
func (s *Simulator) collectGarbage(event watch.EventType, object Object) {
	if s.options.NoGC {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(object); event != watch.Deleted && owner != nil && !s.alive[owner.UID] {
		s.deleteKey(s.kindOf(object), keyOf(object))
	}
	if event != watch.Deleted {
		return
	}
	for _, k := range s.kinds {
		for _, key := range s.dependents(k, object.GetUID()) {
			s.deleteKey(k, key)
		}
	}
}

// dependents returns the objects of a kind that have a controller, in the order of their names.
func (s *Simulator) dependents(k *kind, controller types.UID) (keys []key) {
	for key, o := range s.objects[k] {
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.UID == controller {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.name, b.name) })
	return keys
}

func (s *Simulator) deleteKey(k *kind, key key) {
	if o, ok := s.objects[k][key]; ok {
		s.delete(k, o)
	}
}
