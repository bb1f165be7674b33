package openapitest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// location is the URL of the document for references in it.
const location = "file:///openapi.json"

// description is the document, as all checkers of a process share it.
type description struct {
	document *openapi.Document
	// mux finds the operation of a request: its patterns are those of the operations.
	mux *http.ServeMux
	// operations compile the schemas of an operation when it is first used: most tests use few.
	operations map[string]func() (*operation, error)
	// refusal is the schema of answers to what is not served.
	refusal *jsonschema.Schema

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// sharedDescription reads the document once.
//
//nolint:gochecknoglobals // Reading the document takes longer than most tests.
var sharedDescription = sync.OnceValues(newDescription)

func newDescription() (*description, error) {
	content, err := openapi.JSON()
	if err != nil {
		return nil, err
	}
	document, err := openapi.Parse(content)
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	d := &description{document: document, mux: http.NewServeMux(), compiler: jsonschema.NewCompiler(),
		operations: map[string]func() (*operation, error){}}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(location, value); err != nil {
		return nil, err
	}
	if d.refusal, err = d.compiler.Compile(pointer("components", "schemas", "Error")); err != nil {
		return nil, err
	}
	for path, item := range document.Paths {
		for method, described := range item.Operations() {
			name := method + " " + path
			d.operations[name] = sync.OnceValues(func() (*operation, error) {
				o, err := d.compile(path, method, described)
				if err != nil {
					return nil, fmt.Errorf("compiling %s of the OpenAPI document: %w", name, err)
				}
				return o, nil
			})
			d.mux.Handle(name, http.NotFoundHandler())
		}
	}
	return d, nil
}

// compile compiles the schemas of an operation.
func (d *description) compile(path, method string, described *openapi.Operation) (*operation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := []string{"paths", path, strings.ToLower(method)}
	o := &operation{
		query: map[string]*jsonschema.Schema{}, answers: map[int]map[string]*jsonschema.Schema{},
		public: described.Security != nil,
	}
	var err error
	for _, parameter := range slices.Concat(described.Parameters, d.document.Paths[path].Parameters) {
		p := d.document.Parameter(parameter)
		switch {
		case p == nil:
			return nil, fmt.Errorf("there is no parameter %s", parameter.Ref)
		case p.In != "query":
			continue
		}
		schema := pointer("components", "parameters", openapi.Named(parameter.Ref), "schema")
		if o.query[p.Name], err = d.compiler.Compile(schema); err != nil {
			return nil, err
		}
	}
	if body := described.RequestBody; body != nil {
		o.needsBody = body.Required
		if o.bodies, err = d.media(body.Content, append(at, "requestBody")); err != nil {
			return nil, err
		}
	}
	for status, response := range described.Responses {
		number, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("status %q is no number", status)
		}
		r := d.document.Response(response)
		if r == nil {
			return nil, fmt.Errorf("there is no response %s", response.Ref)
		}
		at := []string{"components", "responses", openapi.Named(response.Ref)}
		if o.answers[number], err = d.media(r.Content, at); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// media compiles the schemas of a body by media type.
func (d *description) media(content map[string]openapi.Media, at []string) (map[string]*jsonschema.Schema, error) {
	schemas := map[string]*jsonschema.Schema{}
	for name := range content {
		var err error
		keys := append(append([]string(nil), at...), "content", name, "schema")
		if schemas[name], err = d.compiler.Compile(pointer(keys...)); err != nil {
			return nil, err
		}
	}
	return schemas, nil
}

// pointer is a JSON pointer as a fragment of the document's URL.
func pointer(keys ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	for i, key := range keys {
		keys[i] = escape.Replace(key)
	}
	return location + "#/" + strings.Join(keys, "/")
}
