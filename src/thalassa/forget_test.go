package thalassa

import (
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// remembered are the names of the fields in which something about a Service is kept.
func (b *balancers) remembered(service *corev1.Service) (names []string) {
	fields := reflect.ValueOf(b).Elem()
	for i := range fields.NumField() {
		if known, ok := reflect.TypeAssert[*sync.Map](reflect.NewAt(fields.Field(i).Type(), fields.Field(i).Addr().UnsafePointer())); ok {
			if _, about := known.Load(service.UID); about {
				names = append(names, fields.Type().Field(i).Name)
			}
		}
	}
	return names
}

// troubled is a Service about which there is much to remember: a creation without an answer, an annotation that is wrong, a node that
// is left out, and a load balancer that failed.
func (l *lab) troubled() *corev1.Service {
	l.Helper()
	web, nodes := service("web", 80), append(l.nodes("a"), named("mute", ""))
	annotated("max-connections", "many")(web)
	if _, err := l.emulator.Inject(fault.Rule{Operation: "POST /v1/loadbalancers", Count: 1, Effect: fault.Effect{Kind: fault.Drop}}); err != nil {
		l.Fatal(err)
	}
	for attempt := 0; len(l.emulator.State().LoadBalancers) == 0 || attempt < 2; attempt++ {
		if _, err := l.ensure(web, nodes); err == nil {
			l.Fatal("it serves at once")
		}
	}
	if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, "failed"); err != nil {
		l.Fatal(err)
	}
	<-time.After(5 * time.Second)
	if _, err := l.ensure(web, nodes); err == nil {
		l.Fatal("it serves although it failed")
	}
	if known := l.cloud.balancers.remembered(web); len(known) < 4 {
		l.Fatalf("remembered are %v, want nearly all there is", known)
	}
	return web
}

// TestNothingIsRememberedOfAServiceThatIsGone, whether it was removed here, or by hand: then nobody asks for a deletion.
func TestNothingIsRememberedOfAServiceThatIsGone(t *testing.T) {
	ways := map[string]func(*lab, *corev1.Service){
		"removed": (*lab).remove,
		"removed by hand": func(l *lab, web *corev1.Service) {
			l.removeByHand()
			<-time.After(2 * time.Minute) // what was just created may be missing in lists
			if _, exists, err := l.cloud.balancers.GetLoadBalancer(l.Context(), "", web); exists || err != nil {
				l.Fatalf("exists %v, error %v", exists, err)
			}
			if len(l.cloud.balancers.remembered(web)) == 0 {
				l.Error("forgotten although it is to have a load balancer")
			}
			web.Spec.Type = corev1.ServiceTypeClusterIP
			if _, exists, err := l.cloud.balancers.GetLoadBalancer(l.Context(), "", web); exists || err != nil {
				l.Fatalf("exists %v, error %v", exists, err)
			}
		},
	}
	for name, remove := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: time.Hour}})
				web := l.troubled()
				remove(l, web)
				if known := l.cloud.balancers.remembered(web); len(known) > 0 {
					t.Errorf("still remembered: %v", known)
				}
			})
		})
	}
}

// TestServiceThatVanishedIsForgotten without its load balancer being removed, as when somebody took its finalizer away.
func TestServiceThatVanishedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		annotated("max-connections", "many")(web)
		l.settle(web, l.nodes("a"))
		cluster := l.watching(web)
		if err := cluster.CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(driftPeriod / 2)
		if len(l.cloud.balancers.remembered(web)) == 0 {
			t.Error("nothing is remembered in the first place")
		}
		l.removeByHand()
		<-time.After(driftPeriod)
		if known := l.cloud.balancers.remembered(web); len(known) > 0 {
			t.Errorf("still remembered: %v", known)
		}
	})
}
