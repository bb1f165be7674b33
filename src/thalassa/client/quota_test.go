package client

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/client-go/iaas"
)

// TestMayBeQuota: a refused creation may be due to a quota whatever the message says; nothing else may.
func TestMayBeQuota(t *testing.T) {
	type row struct {
		method string
		status int
		body   string
		want   bool
	}
	tests := []row{
		{http.MethodPost, 400, `{"message": "Quota exceeded"}`, true},
		{http.MethodPut, 409, `{"message": "Quota exceeded"}`, false},
		{http.MethodPost, 400, `{"message": "no"}`, false},
		{http.MethodPost, 401, `{}`, false},
		{http.MethodPost, 404, `{}`, false},
		{http.MethodPost, 500, `{"message": "quota service is away"}`, false},
		{http.MethodGet, 403, `{}`, false},
		{http.MethodPut, 429, `{}`, false},
	}
	for _, status := range []int{403, 409, 422, 429} {
		tests = append(tests, row{http.MethodPost, status, `{"message": "no more load balancers"}`, true})
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.method, tt.status, tt.body), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := patClient(t, func(w http.ResponseWriter, _ *http.Request) {
					sendJSON(w, tt.status, tt.body)
				})
				_, err := send[Ignored](t.Context(), c, tt.method, iaas.LoadbalancerEndpoint, nil)
				if MayBeQuota(err) != tt.want || MayBeQuota(fmt.Errorf("creating: %w", err)) != tt.want {
					t.Errorf("%v: a quota %v, want %v", err, !tt.want, tt.want)
				}
			})
		})
	}
	throttled := &Error{Method: http.MethodPost, Status: 429, Kind: ErrThrottled, RetryAfter: 1}
	if MayBeQuota(throttled) || MayBeQuota(nil) || MayBeQuota(errors.New("quota")) {
		t.Error("being asked to come back, or what is no answer of the cloud, may be a quota")
	}
}

// TestForbidden is a kind of not being permitted, and the other one is not.
func TestForbidden(t *testing.T) {
	for status, forbidden := range map[int]bool{403: true, 401: false} {
		c := patClient(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, status, `{}`) })
		_, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		if !errors.Is(err, ErrUnauthorised) || errors.Is(err, ErrForbidden) != forbidden {
			t.Errorf("%d: %v is forbidden: %v", status, err, errors.Is(err, ErrForbidden))
		}
	}
}

// TestOptionalCallsDoNotSpeakAgainstTheCredentials, but against the cloud they do.
func TestOptionalCallsDoNotSpeakAgainstTheCredentials(t *testing.T) {
	for status, ill := range map[int]bool{403: false, 401: false, 200: false, 404: false, 500: true} {
		synctest.Test(t, func(t *testing.T) {
			c := patClient(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, status, `{}`) })
			_, _ = Get[iaas.Vpc](Optional(t.Context()), c, iaas.SecurityGroupEndpoint+"/sg-1")
			if got := c.Err(); (got != nil) != ill {
				t.Errorf("%d: %v", status, got)
			}
		})
	}
}

// TestOptionalCallsDoNotSpeakForTheCredentials: what was not permitted before still is not.
func TestOptionalCallsDoNotSpeakForTheCredentials(t *testing.T) {
	c := patClient(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, http.StatusForbidden, `{}`) })
	_, _ = Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
	_, _ = Get[iaas.Vpc](Optional(t.Context()), c, iaas.SecurityGroupEndpoint+"/sg-1")
	if c.Err() == nil {
		t.Error("a call that few need says that all is well")
	}
}
