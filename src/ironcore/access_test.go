package ironcore

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// TestCheckAccess: the API of IronCore is asked about each permission of the chart, also by a cloud that refuses
// writes.
func TestCheckAccess(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.start()
		c.client.RefuseWrites()
		found := c.checkAccess(r.ctx)
		if len(found) < 6 {
			r.Errorf("%d results, want one for each resource", len(found))
		}
		for _, one := range found {
			if one.Err != nil || one.Unknown != "" {
				r.Errorf("everything is permitted, and the result is %+v", one)
			}
		}
		r.server.Fail(func(request simulator.Request) *metav1.Status {
			if request.Resource == "loadbalancers" && request.Verb == "delete" {
				return &metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden}
			}
			return nil
		})
		for _, one := range c.checkAccess(r.ctx) {
			balancers := strings.HasSuffix(one.Action, " loadbalancers.networking.ironcore.dev")
			if (one.Err != nil) != balancers {
				r.Errorf("only the deletion of load balancers is not permitted, and the result is %+v", one)
			}
			if balancers && !strings.Contains(one.Err.Error(), "may not delete loadbalancers.networking.ironcore.dev "+
				"in namespace "+
				testNamespace) {
				r.Errorf("the error is %v", one.Err)
			}
		}
	})
}
