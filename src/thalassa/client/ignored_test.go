package client

import (
	"net/http"
	"testing"
)

// TestIgnoredAnswers: the cloud may answer with a body where nobody needs one; only what is no JSON is wrong.
func TestIgnoredAnswers(t *testing.T) {
	for body, good := range map[string]bool{`[{"identity": "a"}]`: true, `"ok"`: true, `null`: true, ``: true,
		`<html>`: false} {
		c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, http.StatusOK, body)
		})
		_, posted := Post[Ignored](t.Context(), c, "/v1/loadbalancer-target-groups/tg-1/attachments", struct{}{})
		if deleted := Delete(t.Context(), c, "/v1/loadbalancers/lb-1"); (posted == nil) != good ||
			(deleted == nil) != good {
			t.Errorf("answer %q: POST %v, DELETE %v", body, posted, deleted)
		}
	}
}
