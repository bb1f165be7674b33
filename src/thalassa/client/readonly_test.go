package client

import (
	"errors"
	"net/http"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// TestRefuseWrites: a client that only reads sends no write.
func TestRefuseWrites(t *testing.T) {
	cloud := &slowCloud{status: http.StatusOK}
	c := cloud.client(t, secret.Credentials{PersonalAccessToken: "pat"}, 0)
	c.RefuseWrites()
	if _, err := Get[iaas.Vpc](t.Context(), c, "/v1/vpcs/vpc-1"); err != nil {
		t.Error(err)
	}
	_, created := Post[iaas.Vpc](t.Context(), c, "/v1/vpcs", struct{}{})
	_, updated := Put[iaas.Vpc](t.Context(), c, "/v1/vpcs/vpc-1", struct{}{})
	for _, err := range []error{created, updated, Delete(t.Context(), c, "/v1/vpcs/vpc-1")} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("error %v, want %v", err, ErrReadOnly)
		}
	}
	if cloud.calls() != 1 {
		t.Errorf("%d calls were sent, want the read only: %q", cloud.calls(), cloud.sent)
	}
}
