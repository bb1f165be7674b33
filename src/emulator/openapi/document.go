package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Document is what checks and pages need of the document.
type Document struct {
	Info       Info
	Tags       []Tag
	Paths      map[string]*Path
	Components Components
}

// Info is what the document is about.
type Info struct{ Title, Summary, Description string }

// Tag is a resource.
type Tag struct{ Name, Description string }

// Components are what the rest of the document refers to, by name.
type Components struct {
	Parameters      map[string]*Parameter
	Responses       map[string]*Response
	Schemas         map[string]*Schema
	SecuritySchemes map[string]Tag
}

// Path is a path pattern with its operations.
type Path struct {
	Parameters             []*Parameter
	Get, Post, Put, Delete *Operation
}

// Operation is a method of a path.
type Operation struct {
	Tags                 []string
	Summary, Description string
	Parameters           []*Parameter
	RequestBody          *RequestBody
	Responses            map[string]*Response
	// Security is nil for the credentials that the whole document asks for, and empty for none.
	Security []map[string]any
}

// Parameter is a part of the path, the query or the header.
type Parameter struct {
	Ref               string `json:"$ref"`
	Name, Description string
	In, Style         string
	Required          bool
	Schema            *Schema
}

// RequestBody is the body of a request.
type RequestBody struct {
	Required bool
	Content  map[string]Media
}

// Response is the answer with a status.
type Response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]Media
}

// Media is a body with a media type.
type Media struct {
	Schema  *Schema
	Example any
}

// Schema is what a value must be. The fields are those that the document uses in descriptions.
type Schema struct {
	Ref                   string `json:"$ref"`
	Description           string
	Type                  any
	Format, Pattern       string
	Enum                  []any
	Const                 any
	Items                 *Schema
	Properties            map[string]*Schema
	PropertyNames         *Schema
	AdditionalProperties  *Additional
	UnevaluatedProperties any
	Required              []string
	AllOf, AnyOf          []*Schema
	Minimum, Maximum      *float64
	MinLength, MaxLength  *int
	MinItems, MaxItems    *int
	MinProperties         *int
	UniqueItems           bool
	// If decides whether Then or Else holds, too.
	If, Then, Else *Schema
}

// Additional is what the fields of an object must be that its schema does not name. Without a schema, there are none.
type Additional struct{ *Schema }

// UnmarshalJSON implements json.Unmarshaler: false stands for no fields, and true for any.
func (a *Additional) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "false":
		return nil
	case "true":
		a.Schema = &Schema{}
		return nil
	}
	return json.Unmarshal(text, &a.Schema)
}

// Read returns the document of JSON.
func Read() (*Document, error) {
	content, err := JSON()
	if err != nil {
		return nil, err
	}
	return Parse(content)
}

// Parts returns the parts that the document is made of, by the names of their files.
func Parts() (map[string]*Document, error) {
	parts, err := read(files)
	if err != nil {
		return nil, err
	}
	all := map[string]*Document{}
	for name, part := range parts {
		content, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if all[name], err = Parse(content); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Parse reads what JSON returns, or a part of it.
func Parse(content []byte) (*Document, error) {
	document := new(Document)
	if err := json.Unmarshal(content, document); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	return document, nil
}

// Operations are the operations of a path, by method.
func (p *Path) Operations() map[string]*Operation {
	all := map[string]*Operation{
		http.MethodGet: p.Get, http.MethodPost: p.Post, http.MethodPut: p.Put, http.MethodDelete: p.Delete,
	}
	for method, operation := range all {
		if operation == nil {
			delete(all, method)
		}
	}
	return all
}

// Named is the last part of a reference: the name of a component.
func Named(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// Parameter is a parameter, or the one that it refers to; nil if there is none.
func (d *Document) Parameter(p *Parameter) *Parameter {
	if p.Ref == "" {
		return p
	}
	return d.Components.Parameters[Named(p.Ref)]
}

// Response is a response, or the one that it refers to; nil if there is none.
func (d *Document) Response(r *Response) *Response {
	if r.Ref == "" {
		return r
	}
	return d.Components.Responses[Named(r.Ref)]
}
