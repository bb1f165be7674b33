package cloudconfig

import "github.com/thalassa-cloud/thalassa-ccm/src/config"

// Schema is the JSON schema of the cloud-config file; defaults is that of loadBalancer.defaults. A value that the
// environment can provide is not required, so a file without credentials is valid.
func Schema(defaults config.Schema) ([]byte, error) {
	return config.NewSchema("cloud-config of the Thalassa cloud controller manager", Default(), Keys(),
		oneCredential(), notInsecureWithBundle(), exclusiveTable(),
		within("loadBalancer", within("defaults", defaults)))
}

// oneCredential permits all keys of exactly one form, or no keys.
func oneCredential() config.Schema {
	none := config.Schema{"title": "none: the environment gives a workload identity"}
	choices := []config.Schema{none}
	var all []config.Schema
	for _, form := range credentialForms() {
		all = append(all, anyOf(form.keys))
	}
	none["not"] = config.Schema{"anyOf": all}
	for i, form := range credentialForms() {
		var others []config.Schema
		others = append(others, all[:i]...)
		others = append(others, all[i+1:]...)
		var own []config.Schema
		for _, key := range form.keys {
			own = append(own, given(key))
		}
		choices = append(choices, config.Schema{"title": form.name, "allOf": own,
			"not": config.Schema{"anyOf": others}})
	}
	return within(pathCredentials, config.Schema{"oneOf": choices})
}

func notInsecureWithBundle() config.Schema {
	return config.Schema{"not": config.Schema{"allOf": []config.Schema{
		{"required": []string{"insecure"}, "properties": config.Schema{"insecure": config.Schema{"const": true}}},
		given("caBundle"),
	}}}
}

// exclusiveTable requires a route table if it is exclusive.
func exclusiveTable() config.Schema {
	exclusive := config.Schema{"type": "object", "required": []string{"exclusive"},
		"properties": config.Schema{"exclusive": config.Schema{"const": true}}}
	return within("routes", config.Schema{"anyOf": []config.Schema{{"not": exclusive}, given("table")}})
}

// within is a condition for a section.
func within(section string, condition config.Schema) config.Schema {
	return config.Schema{"properties": config.Schema{section: condition}}
}

func anyOf(keys []string) config.Schema {
	var schemas []config.Schema
	for _, key := range keys {
		schemas = append(schemas, given(key))
	}
	return config.Schema{"anyOf": schemas}
}

// given is the condition that a key has a value: neither null nor an empty text.
func given(key string) config.Schema {
	return config.Schema{
		"type": "object", "required": []string{key},
		"properties": config.Schema{key: config.Schema{"not": config.Schema{"enum": []any{nil, ""}}}},
	}
}
