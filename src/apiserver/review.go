package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// reviewPath is where clients ask what they may do.
const reviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// review answers what a client may do: everything that no fault forbids. Such a question is no request for an object,
// so that it is not recorded.
func (t transport) review(r *http.Request, body []byte) (*http.Response, error) {
	var asked authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(body, &asked); err != nil || asked.Spec.ResourceAttributes == nil {
		return nil, fmt.Errorf("reading the access review: %w", err)
	}
	about := asked.Spec.ResourceAttributes
	_, err := t.inject(r.Context(), Request{Verb: about.Verb, Resource: about.Resource, Namespace: about.Namespace})
	asked.Status.Allowed = err == nil
	return response(r, http.StatusCreated, io.NopCloser(bytes.NewReader(encode(asked)))), nil
}
