package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

// react lets IronCore's controllers and the network provider react to a change. Old is nil if the object is new.
func (n *network) react(objects apiserver.State, event watch.EventType, object, old Object) {
	switch o := object.(type) {
	case *networkingv1alpha1.LoadBalancer:
		if event == watch.Deleted {
			n.pool.Release(o.UID, nil)
			delete(n.prefixes, o.UID)
			delete(n.carried, o.UID)
			break
		}
		n.provisionBalancer(objects, o)
		n.route(objects, apiserver.NameOf(o))
	case *networkingv1alpha1.NetworkInterface:
		if event != watch.Deleted {
			n.provisionInterface(objects, o)
		}
		before, _ := old.(*networkingv1alpha1.NetworkInterface)
		n.routeInterface(objects, o, before)
	case *networkingv1alpha1.LoadBalancerRouting:
		n.routeOwner(objects, o)
	}
}
