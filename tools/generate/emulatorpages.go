package generate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

const (
	// emulatorPages is the folder of the pages.
	emulatorPages = "docs/emulator/"
	// common is the part of the document that all resources share.
	common = "common"
	// maxRow is how long a line of the pages may be.
	maxRow = 150
)

// emulatorAPI makes a page for each part of the OpenAPI document of the emulator.
func emulatorAPI() Generator {
	return Generator{Name: "pages of the emulator's API", Files: func(context.Context, string) (map[string][]byte,
		error) {
		parts, err := openapi.Parts()
		if err != nil {
			return nil, err
		}
		whole, err := openapi.Read()
		if err != nil {
			return nil, err
		}
		pages := newResourcePages(whole, parts)
		made := map[string][]byte{emulatorPages + "README.md": []byte(pages.index())}
		for name, part := range parts {
			if name != common {
				made[emulatorPages+name+".md"] = []byte(pages.page(name, part))
			}
		}
		return made, nil
	}}
}

// resourcePages are the pages of the document.
type resourcePages struct {
	whole *openapi.Document
	parts map[string]*openapi.Document
	// homes are the parts that schemas are in.
	homes map[string]string
	// shown are the schemas that something refers to otherwise than to take their fields over.
	shown map[string]bool
	// sent are the schemas that requests have.
	sent map[string]bool
	// current is the part whose page is written.
	current string
}

func newResourcePages(whole *openapi.Document, parts map[string]*openapi.Document) *resourcePages {
	p := &resourcePages{whole: whole, parts: parts, homes: map[string]string{}, shown: map[string]bool{},
		sent: map[string]bool{}}
	for name, part := range parts {
		for schema := range part.Components.Schemas {
			p.homes[schema] = name
		}
	}
	for _, schema := range whole.Components.Schemas {
		for _, field := range p.fields(schema) {
			p.show(field.schema)
		}
		p.show(&openapi.Schema{AnyOf: schema.AnyOf})
	}
	for _, response := range whole.Components.Responses {
		for _, body := range response.Content {
			p.show(body.Schema)
		}
	}
	for _, path := range whole.Paths {
		for _, operation := range path.Operations() {
			if operation.RequestBody != nil {
				p.show(bodyOf(operation.RequestBody))
				p.send(bodyOf(operation.RequestBody))
			}
		}
	}
	return p
}

// show records what a schema refers to.
func (p *resourcePages) show(s *openapi.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		p.shown[openapi.Named(s.Ref)] = true
		return
	}
	p.show(s.Items)
	for _, other := range slices.Concat(s.AnyOf, s.AllOf) {
		p.show(other)
	}
}

// send records what a part of a request refers to.
func (p *resourcePages) send(s *openapi.Schema) {
	if s == nil || p.sent[openapi.Named(s.Ref)] {
		return
	}
	if s.Ref != "" {
		p.sent[openapi.Named(s.Ref)] = true
		p.send(p.whole.Components.Schemas[openapi.Named(s.Ref)])
	}
	p.send(s.Items)
	for _, part := range slices.Concat(s.AnyOf, s.AllOf, slices.Collect(maps.Values(s.Properties))) {
		p.send(part)
	}
}

// bodyOf is the schema of a request's body, which has one media type.
func bodyOf(body *openapi.RequestBody) *openapi.Schema {
	for _, media := range body.Content {
		return media.Schema
	}
	return nil
}

// index is the page with what all resources share.
func (p *resourcePages) index() string {
	p.current = common
	var page strings.Builder
	info := p.parts[common].Info
	fmt.Fprintf(&page, "# %s\n\n<!-- Made by \"make generate\" from src/emulator/openapi. -->\n\n%s\n", info.Title,
		wrapped(info.Summary+" The [emulator](../../src/emulator/README.md) answers the same as an OpenAPI 3.1 "+
			"document at `/openapi.json`, without credentials. The README says which tests compare "+
			"requests and answers with it."))
	for paragraph := range strings.SplitSeq(strings.TrimSpace(info.Description), "\n\n") {
		fmt.Fprintf(&page, "\n%s\n", wrapped(paragraph))
	}
	page.WriteString("\n## Resources\n\n| Resource | What it is |\n|---|---|\n")
	rows := map[string]string{}
	for name, part := range p.parts {
		for _, tag := range part.Tags {
			rows[tag.Name] = fmt.Sprintf("| [%s](%s.md) | %s |\n", tag.Name, name, tag.Description)
		}
	}
	for _, title := range slices.Sorted(maps.Keys(rows)) {
		page.WriteString(rows[title])
	}
	page.WriteString("\n## Credentials\n\nAn operation needs one of these, unless its page says otherwise.\n\n")
	for _, name := range slices.Sorted(maps.Keys(p.parts[common].Components.SecuritySchemes)) {
		fmt.Fprintf(&page, "* %s\n", p.parts[common].Components.SecuritySchemes[name].Description)
	}
	page.WriteString("\n## Organisation and project\n\n| Parameter | In | Meaning |\n|---|---|---|\n")
	for _, name := range sharedParameters() {
		parameter := p.parts[common].Components.Parameters[name]
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", parameter.Name, parameter.In, parameter.Description)
	}
	page.WriteString("\n## Errors\n\nThe body of an error is an [Error](#error).\n\n" + p.errors())
	page.WriteString(p.objects(common))
	return page.String()
}

// errors is the table of the answers that are errors, by status.
func (p *resourcePages) errors() string {
	meanings := map[string]string{}
	for _, path := range p.whole.Paths {
		for _, operation := range path.Operations() {
			for status, response := range operation.Responses {
				if status >= "4" && p.isShared(response) {
					meanings[status] = oneLine(p.whole.Response(response).Description)
				}
			}
		}
	}
	var table strings.Builder
	table.WriteString("| Status | Meaning |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(meanings)) {
		fmt.Fprintf(&table, "| %s | %s |\n", status, meanings[status])
	}
	return table.String()
}

// page is the page of a part.
func (p *resourcePages) page(name string, part *openapi.Document) string {
	p.current = name
	var page, sections strings.Builder
	tag := part.Tags[0]
	fmt.Fprintf(&page, "# %s\n\n<!-- Made by \"make generate\" from src/emulator/openapi/%s.yaml. -->\n\n%s\n",
		tag.Name, name, wrapped(tag.Description+" [What all resources share](README.md)."))
	page.WriteString("\n| Operation | What it does |\n|---|---|\n")
	for _, path := range slices.Sorted(maps.Keys(part.Paths)) {
		operations := part.Paths[path].Operations()
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			if o := operations[method]; o != nil {
				fmt.Fprintf(&page, "| `%s %s` | [%s](#%s) |\n", method, path, o.Summary, anchor(o.Summary))
				sections.WriteString(p.operation(method, path, part.Paths[path], o))
			}
		}
	}
	return page.String() + sections.String() + p.objects(name)
}

// operation is the section of an operation.
func (p *resourcePages) operation(method, path string, at *openapi.Path, o *openapi.Operation) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n## %s\n\n`%s %s`\n", o.Summary, method, path)
	if o.Security != nil && len(o.Security) == 0 {
		text.WriteString("\nNo credentials are needed.\n")
	}
	text.WriteString(p.parameters(slices.Concat(at.Parameters, o.Parameters)))
	if o.RequestBody != nil {
		body := bodyOf(o.RequestBody)
		named, needs := body, ""
		if len(body.AllOf) > 0 {
			named = body.AllOf[0]
		}
		if len(body.Required) > 0 {
			needs = " with " + quoted(body.Required)
		}
		fmt.Fprintf(&text, "\n%s\n%s", wrapped("The request is "+p.kind(named)+needs+"."), exampleOf(o.RequestBody))
	}
	return text.String() + p.answers(o)
}

// isShared returns whether all resources share a response.
func (p *resourcePages) isShared(r *openapi.Response) bool {
	return p.parts[common].Components.Responses[openapi.Named(r.Ref)] != nil
}

// answers is the table of the answers of an operation. Statuses with the same answer share a row.
func (p *resourcePages) answers(o *openapi.Operation) string {
	var rows []string
	statuses := map[string][]string{}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		row := p.answer(p.whole.Response(o.Responses[status]))
		if status >= "4" && p.isShared(o.Responses[status]) {
			row = "[an error](README.md#errors)"
		}
		if statuses[row] == nil {
			rows = append(rows, row)
		}
		statuses[row] = append(statuses[row], status)
	}
	var table strings.Builder
	table.WriteString("\n| Status | Answer |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&table, "| %s | %s |\n", strings.Join(statuses[row], ", "), row)
	}
	return table.String()
}

// sharedParameters are the parameters that almost all operations have. Only the index has them.
func sharedParameters() []string { return []string{"organisation", "project", "projectOfQuery"} }

// parameters is the table of the parameters of an operation.
func (p *resourcePages) parameters(all []*openapi.Parameter) string {
	var rows strings.Builder
	for _, parameter := range all {
		one := p.whole.Parameter(parameter)
		switch {
		case slices.Contains(sharedParameters(), openapi.Named(parameter.Ref)):
			continue
		case one.Style == "deepObject":
			fmt.Fprintf(&rows, "| `%s[...]` | %s | %s |\n", one.Name, one.In, one.Description)
		default:
			fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", one.Name, one.In, one.Description)
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	return "\n| Parameter | In | Meaning |\n|---|---|---|\n" + rows.String()
}

// answer is what an answer has.
func (p *resourcePages) answer(r *openapi.Response) string {
	var kinds []string
	for _, media := range slices.Sorted(maps.Keys(r.Content)) {
		schema := r.Content[media].Schema
		switch {
		case media != "application/json":
			kinds = append(kinds, "`"+media+"`")
		case len(schema.AnyOf) == 0 && (schema.Ref != "" || schema.Items != nil && schema.Items.Ref != ""):
			kinds = append(kinds, p.kind(schema))
		}
	}
	text := oneLine(r.Description)
	if len(kinds) > 0 {
		text = strings.TrimSuffix(text, ".") + ": " + strings.Join(kinds, ", ")
	}
	return text
}
