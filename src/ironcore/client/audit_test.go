package client

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestAudit: every write, and no read, leaves one line that says what was done to which object, why and with what
// result.
func TestAudit(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		err    error
		want   []string
	}{
		"success":   {http.StatusOK, nil, []string{`"Cloud write"`, "status=200"}},
		"refused":   {http.StatusConflict, nil, []string{`"Cloud write failed"`, "status=409", "Conflict"}},
		"no answer": {0, errDown, []string{`"Cloud write failed"`, "status=0", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
			ctx = tracing.WithCause(ctx, "Service shop/web: update LoadBalancer web")
			c, s := newClient(t)
			s.set(tt.status, tt.err)
			_, _ = c.LoadBalancers.Get(ctx, "web", metav1.GetOptions{})
			_, _ = c.LoadBalancers.Patch(ctx, "web", types.MergePatchType, []byte(`{"a": "s3cret"}`),
				metav1.PatchOptions{})
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if len(lines) != 1 {
				t.Fatalf("lines %q", lines)
			}
			for _, part := range append(tt.want, `request="patch loadbalancers"`, `object="web"`, "attempts=1",
				`cause="Service shop/web: update LoadBalancer web"`) {
				if !strings.Contains(lines[0], part) {
					t.Errorf("the line lacks %s:\n%s", part, lines[0])
				}
			}
			if strings.Contains(lines[0], "s3cret") {
				t.Errorf("the line has the body:\n%s", lines[0])
			}
		})
	}
}
