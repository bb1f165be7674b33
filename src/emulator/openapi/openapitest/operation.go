package openapitest

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
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
	// sent and answered are those that are known to be as described.
	sent, answered *bodies
	// public operations need no credentials.
	public bool
}

// compile compiles the schemas of an operation.
func compile(compiler *jsonschema.Compiler, document *openapi.Document, path, method string,
	shared []*openapi.Parameter, described *openapi.Operation) (*operation, error) {
	at := []string{"paths", path, strings.ToLower(method)}
	o := &operation{
		query: map[string]*jsonschema.Schema{}, answers: map[int]map[string]*jsonschema.Schema{},
		public: described.Security != nil,
	}
	var err error
	for _, parameter := range append(described.Parameters, shared...) {
		p := document.Parameter(parameter)
		switch {
		case p == nil:
			return nil, fmt.Errorf("there is no parameter %s", parameter.Ref)
		case p.In != "query":
			continue
		}
		schema := pointer("components", "parameters", openapi.Named(parameter.Ref), "schema")
		if o.query[p.Name], err = compiler.Compile(schema); err != nil {
			return nil, err
		}
	}
	if body := described.RequestBody; body != nil {
		o.needsBody = body.Required
		if o.bodies, err = media(compiler, body.Content, append(at, "requestBody")); err != nil {
			return nil, err
		}
	}
	for status, response := range described.Responses {
		number, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("status %q is no number", status)
		}
		r := document.Response(response)
		if r == nil {
			return nil, fmt.Errorf("there is no response %s", response.Ref)
		}
		at := []string{"components", "responses", openapi.Named(response.Ref)}
		if o.answers[number], err = media(compiler, r.Content, at); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// media compiles the schemas of a body by media type.
func media(compiler *jsonschema.Compiler, content map[string]openapi.Media,
	at []string) (map[string]*jsonschema.Schema, error) {
	schemas := map[string]*jsonschema.Schema{}
	for name := range content {
		var err error
		keys := append(append([]string(nil), at...), "content", name, "schema")
		if schemas[name], err = compiler.Compile(pointer(keys...)); err != nil {
			return nil, err
		}
	}
	return schemas, nil
}

// checkAnswer compares an answer with the description of its status.
func (o *operation) checkAnswer(r *http.Request, a *answer) error {
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
	return o.answered.validate(schema, a.body.Bytes())
}

// checkRequest compares a request that was accepted with its description.
func (o *operation) checkRequest(r *http.Request, body []byte) error {
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
	return o.checkBody(r.Method, body)
}

// checkBody compares the body of a request with the document.
func (o *operation) checkBody(method string, body []byte) error {
	switch {
	case len(body) == 0 && o.needsBody:
		return errors.New("it has no body, and the document asks for one")
	case len(body) == 0, len(o.bodies) == 0 && (bodiless(method) || string(body) == "{}"):
		return nil
	case o.bodies[formType] != nil:
		return validateForm(o.bodies[formType], body)
	case o.bodies[jsonType] != nil:
		return o.sent.validate(o.bodies[jsonType], body)
	}
	return errors.New("it has a body, and the document describes none")
}

// bodiless returns whether the body of a request with a method means nothing (RFC 9110, section 9.3).
func bodiless(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete
}
