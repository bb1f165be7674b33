package generate

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// part is a part of a document in JSON.
func part(t *testing.T, text string) *openapi.Document {
	t.Helper()
	d := new(openapi.Document)
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

const boatPart = `{
	"tags": [{"name": "Boats", "description": "Ships that are small."}],
	"paths": {"/v1/boats/{id}": {
		"parameters": [{"name": "id", "in": "path", "description": "The boat."}],
		"put": {"summary": "Change a boat",
			"requestBody": {"content": {"application/json": {"schema":
				{"allOf": [{"$ref": "#/components/schemas/BoatInput"}], "required": ["name"]},
				"example": {"name": "Pequod", "anchors": [2]}}}},
			"responses": {"200": {"$ref": "#/components/responses/Boat"}, "201": {"$ref": "#/components/responses/Boat"},
				"404": {"$ref": "#/components/responses/NotFound"}}}}},
	"components": {
		"responses": {"Boat": {"description": "The boat.",
			"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Boat"}}}}},
		"schemas": {
			"Boat": {"description": "A small ship.", "allOf": [{"$ref": "#/components/schemas/Meta"}],
				"unevaluatedProperties": false, "required": ["sails"], "properties": {
					"sails": {"type": "integer", "minimum": 1, "description": "How many sails it has."},
					"flag": {"$ref": "#/components/schemas/Flag", "description": "Its flag."},
					"berths": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9},
						"description": "Its berths."},
					"kind": {"type": ["string", "null"], "enum": ["dinghy", "punt", null], "description": "Its kind."},
					"owner": {"anyOf": [{"$ref": "#/components/schemas/Boat"}, {"type": "null"}], "description": "Its owner."}}},
			"Flag": {"description": "A text.", "type": "string", "pattern": "^[A-Z]+$"},
			"BoatInput": {"description": "A boat in a request.", "properties": {
				"name": {"type": ["string", "null"], "description": "Its name."}}}}}}`

const sharedPart = `{"components": {
	"responses": {"NotFound": {"description": "There is none."}},
	"schemas": {"Meta": {"description": "What all have.", "required": ["name"], "properties": {
		"name": {"type": "string", "description": "Its name."}}}}}}`

const boatPage = `# Boats

<!-- Made by "make generate" from src/emulator/openapi/boats.yaml. -->

Ships that are small. [What all resources share](README.md).

| Operation | What it does |
|---|---|
| ` + "`PUT /v1/boats/{id}`" + ` | [Change a boat](#change-a-boat) |

## Change a boat

` + "`PUT /v1/boats/{id}`" + `

| Parameter | In | Meaning |
|---|---|---|
| ` + "`id`" + ` | path | The boat. |

The request is [BoatInput](#boatinput) with ` + "`name`" + `.

` + "```json" + `
{"name": "Pequod", "anchors": [2]}
` + "```" + `

| Status | Answer |
|---|---|
| 200, 201 | The boat: [Boat](#boat) |
| 404 | [an error](README.md#errors) |

## Objects

### Boat

A small ship.

| Field | Type | Always | Meaning |
|---|---|---|---|
| ` + "`name`" + ` | text | yes | Its name. |
| ` + "`berths`" + ` | list of integer | no | Its berths. Each 0 to 9. |
| ` + "`flag`" + ` | [Flag](#flag) | no | Its flag. |
| ` + "`kind`" + ` | text or null | no | Its kind. One of ` + "`dinghy`, `punt`" + `. |
| ` + "`owner`" + ` | [Boat](#boat) or null | no | Its owner. |
| ` + "`sails`" + ` | integer | yes | How many sails it has. At least 1. |

### BoatInput

A boat in a request.

| Field | Type | Meaning |
|---|---|---|
| ` + "`name`" + ` | text | Its name. |

### Flag

A text.
`

func TestPageOfAResource(t *testing.T) {
	boats, shared := part(t, boatPart), part(t, sharedPart)
	whole := part(t, boatPart)
	whole.Components.Schemas["Meta"] = shared.Components.Schemas["Meta"]
	whole.Components.Responses["NotFound"] = shared.Components.Responses["NotFound"]
	pages := newResourcePages(whole, map[string]*openapi.Document{"boats": boats, common: shared})
	if diff := cmp.Diff(boatPage, pages.page("boats", boats)); diff != "" {
		t.Errorf("the page differs (-want +got):\n%s", diff)
	}
}

// Every operation is on a page that the index links to, and lines are not too long.
func TestPagesOfTheEmulator(t *testing.T) {
	pages, err := emulatorAPI().Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all, index := "", string(pages[emulatorPages+"README.md"])
	for name, content := range pages {
		all += string(content)
		for line := range strings.Lines(string(content)) {
			if utf8.RuneCountInString(line) > maxRow+1 {
				t.Errorf("%s: %q is longer than %d characters", name, line, maxRow)
			}
		}
		if short := strings.TrimPrefix(name, emulatorPages); short != "README.md" &&
			!strings.Contains(index, "("+short+")") {
			t.Errorf("the index does not link to %s", name)
		}
	}
	whole, err := openapi.Read()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range whole.Paths {
		for method, operation := range item.Operations() {
			section := "\n## " + operation.Summary + "\n\n`" + method + " " + path + "`\n"
			if strings.Count(all, section) != 1 {
				t.Errorf("%s %s is not on one page", method, path)
			}
		}
	}
}
