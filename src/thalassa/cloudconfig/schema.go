package cloudconfig

import (
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
)

// Schema is the JSON schema of the cloud-config file; defaults is that of loadBalancer.defaults. A value that the
// environment can provide is not required, so a file without credentials is valid.
func Schema(defaults configfile.Schema) ([]byte, error) {
	return configfile.NewSchema("cloud-config of the Thalassa cloud controller manager", Default(), Keys(),
		oneCredential(), notInsecureWithBundle(), exclusiveTable(),
		within("loadBalancer", within("defaults", defaults)))
}

// oneCredential permits all keys of exactly one form, or no keys.
func oneCredential() configfile.Schema {
	none := configfile.Schema{"title": "none: the environment gives a workload identity"}
	choices := []configfile.Schema{none}
	var all []configfile.Schema
	for _, form := range credentialForms() {
		all = append(all, configfile.Schema{"anyOf": eachGiven(form.keys)})
	}
	none["not"] = configfile.Schema{"anyOf": all}
	for i, form := range credentialForms() {
		others := slices.Concat(all[:i], all[i+1:])
		choices = append(choices, configfile.Schema{"title": form.name, "allOf": eachGiven(form.keys),
			"not": configfile.Schema{"anyOf": others}})
	}
	return within(pathCredentials, configfile.Schema{"oneOf": choices})
}

func notInsecureWithBundle() configfile.Schema {
	return configfile.Schema{"not": configfile.Schema{"allOf": []configfile.Schema{
		{"required": []string{"insecure"},
			"properties": configfile.Schema{"insecure": configfile.Schema{"const": true}}},
		given("caBundle"),
	}}}
}

// exclusiveTable requires a route table if it is exclusive.
func exclusiveTable() configfile.Schema {
	exclusive := configfile.Schema{"type": "object", "required": []string{"exclusive"},
		"properties": configfile.Schema{"exclusive": configfile.Schema{"const": true}}}
	return within("routes", configfile.Schema{"anyOf": []configfile.Schema{{"not": exclusive}, given("table")}})
}

// within is a condition for a section.
func within(section string, condition configfile.Schema) configfile.Schema {
	return configfile.Schema{"properties": configfile.Schema{section: condition}}
}

func eachGiven(keys []string) (schemas []configfile.Schema) {
	for _, key := range keys {
		schemas = append(schemas, given(key))
	}
	return schemas
}

// given is the condition that a key has a value: neither null nor an empty text.
func given(key string) configfile.Schema {
	return configfile.Schema{
		"type": "object", "required": []string{key},
		"properties": configfile.Schema{key: configfile.Schema{"not": configfile.Schema{"enum": []any{nil, ""}}}},
	}
}
