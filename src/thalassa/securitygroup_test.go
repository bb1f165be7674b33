package thalassa

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// refusing makes the cloud refuse some calls, as long as on says.
func (l *lab) refusing(status int, on func(*http.Request) bool) {
	l.Helper()
	good := l.network
	l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
		if on(request) {
			return refusal(request, status), nil
		}
		return good.RoundTrip(request)
	})
	l.restart()
}

// TestGroupsThatCannotBeListed: nobody knows whether there is one already, so none is made, and none taken off.
func TestGroupsThatCannotBeListed(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes := l.nodes("a")
				own := serviceWith(annotated("create-security-group", "true"))
				l.settle(own, nodes)
				before := managedText(l)
				good := l.network
				l.refusing(status, func(r *http.Request) bool {
					return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/security-groups")
				})
				annotated("labels", "team=shop")(own) // which is written meanwhile
				for range 3 {
					if _, err := l.ensure(own, append(nodes, l.allNodes...)); err == nil {
						t.Error("nothing is reported")
					}
					<-time.After(time.Minute)
				}
				if got := managedText(l); got != before {
					t.Errorf("security groups %q, want %q", got, before)
				}
				l.network = good
				l.restart()
				l.settle(serviceWith(nil), nodes)
				if got := managedText(l); got != "" {
					t.Errorf("not asked for any more: security group %q", got)
				}
				l.remove(own)
				if left := l.everything(); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// TestForbiddenLookKeepsTheFinalizer: that nothing may be seen does not mean that nothing is there.
func TestForbiddenLookKeepsTheFinalizer(t *testing.T) {
	l := newFeatureLab(t)
	web := serviceWith(annotated("create-security-group", "true"))
	l.settle(web, l.nodes("a"))
	l.request(http.MethodDelete, "/v1/loadbalancers/"+l.only().Identity, nil)
	l.refusing(http.StatusForbidden, func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/security-groups")
	})
	for range 3 {
		if err := l.library.EnsureLoadBalancerDeleted(t.Context(), "test", web); err == nil {
			t.Error("nothing is left, it says")
		}
	}
}

// TestSecurityGroupOfAnUnfinishedLoadBalancer is removed when the Service does not ask for one any more before its load
// balancer could be created: the load balancer is what says otherwise that the group was made. Lives 70000284 and
// 70000295 found it.
func TestSecurityGroupOfAnUnfinishedLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes := l.nodes("a")
		web := service("web", 80)
		web.Annotations[label.AnnotationPrefix+nameCreateGroup] = "true"
		limit := func(most int) {
			t.Helper()
			if err := l.emulator.SetQuota(emulator.DefaultOrganisation, "loadbalancers", most); err != nil {
				t.Fatal(err)
			}
		}
		limit(0)
		if _, err := l.ensure(web, nodes); err == nil {
			t.Fatal("a load balancer was created beyond the quota")
		}
		if !slices.Contains(l.holdings(), "a security group for web") {
			t.Fatalf("the cloud has %q, want a security group", l.holdings())
		}
		delete(web.Annotations, label.AnnotationPrefix+nameCreateGroup)
		limit(1)
		l.settle(web, nodes)
		if want := []string{"80/tcp to 30080 on a"}; !slices.Equal(l.holdings(), want) {
			t.Errorf("the cloud has %q, want %q", l.holdings(), want)
		}
	})
}
