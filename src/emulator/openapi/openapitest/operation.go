package openapitest

import (
	"errors"
	"fmt"
	"mime"
	"net/http"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The media types of which bodies are read. Of other types, only the type is compared.
const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// operation is an operation of the document with its schemas.
type operation struct {
	query     map[string]*jsonschema.Schema
	needsBody bool
	// bodies are the schemas of the request's body, and answers those of the answers by status, by media type.
	bodies  map[string]*jsonschema.Schema
	answers map[int]map[string]*jsonschema.Schema
	// public operations need no credentials.
	public bool
}

// checkAnswer compares an answer with the description of its status.
func (o *operation) checkAnswer(known *bodies, r *http.Request, a *answer) error {
	content, described := o.answers[a.status]
	switch {
	case !described:
		return errors.New("the document lacks this status")
	case len(content) == 0 && a.length > 0:
		return errors.New("it has a body, and the document describes none")
	case len(content) == 0 || r.Method == http.MethodHead:
		return nil
	case a.length == 0 && content[jsonType] != nil:
		// An answer without a body says as much as null.
		return conforms(content[jsonType], nil)
	}
	name, _, err := mime.ParseMediaType(a.Header().Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("the media type %q: %w", a.Header().Get("Content-Type"), err)
	}
	schema := content[name]
	switch {
	case schema == nil:
		return fmt.Errorf("the document lacks the media type %q", name)
	case name != jsonType:
		return nil
	}
	return known.validate(schema, a.body.Bytes())
}

// checkRequest compares a request that was accepted with its description.
func (o *operation) checkRequest(known *bodies, r *http.Request, body []byte) error {
	if !o.public && r.Header.Get("Authorization") == "" {
		return errors.New("it has no credentials, and the document asks for some")
	}
	for name, schema := range o.query {
		if value := r.URL.Query(); value.Has(name) {
			if err := conforms(schema, value.Get(name)); err != nil {
				return err
			}
		}
	}
	return o.checkBody(known, r.Method, body)
}

// checkBody compares the body of a request with the document.
func (o *operation) checkBody(known *bodies, method string, body []byte) error {
	switch {
	case len(body) == 0 && o.needsBody:
		return errors.New("it has no body, and the document asks for one")
	case len(body) == 0, len(o.bodies) == 0 && (bodiless(method) || string(body) == "{}"):
		return nil
	case o.bodies[formType] != nil:
		return validateForm(o.bodies[formType], body)
	case o.bodies[jsonType] != nil:
		return known.validate(o.bodies[jsonType], body)
	}
	return errors.New("it has a body, and the document describes none")
}

// bodiless returns whether the body of a request with a method means nothing (RFC 9110, section 9.3).
func bodiless(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete
}
