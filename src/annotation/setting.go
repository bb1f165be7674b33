package annotation

// Setting is what a Service requests in one respect.
type Setting[T any] struct {
	Value T
	// Given says that Value is what the Service says, and not the default.
	Given bool
	// Configured says that Value is the default that SetDefaults gave.
	Configured bool
	// Invalid says that the annotation, or what is probably meant for it, is there but cannot be used: what the cloud
	// has now must stay as it is. Value is then the default, for an object that does not exist yet.
	Invalid bool
}

// Asked returns whether the Service or the defaults of the configuration set Value.
func (s Setting[T]) Asked() bool { return s.Given || s.Configured }

// Key reads one annotation's value, already of its Go type.
type Key[T any] struct {
	registry *Registry
	name     string
}

// Name returns the name of the annotation, without the prefix.
func (k Key[T]) Name() string { return k.name }

// From returns the setting of the annotation without a port.
func (k Key[T]) From(values Values) Setting[T] {
	setting, _ := read[T](values, k.name)
	return k.orDefault(setting)
}

// For returns the setting for one port. The annotation for the port's name wins over that for its number, which wins
// over the one without a port. One that cannot be used makes the setting invalid: it gives way to no other.
func (k Key[T]) For(values Values, port Port) Setting[T] {
	for _, text := range port.text() {
		if setting, found := read[T](values, k.name+"."+text); found {
			return k.orDefault(setting)
		}
	}
	return k.From(values)
}

// Default returns what holds when a Service does not have the annotation.
func (k Key[T]) Default() T {
	value, _ := k.registry.entries[k.name].fallback.(T)
	return value
}

func (k Key[T]) orDefault(setting Setting[T]) Setting[T] {
	if !setting.Given {
		setting.Value, setting.Configured = k.Default(), k.registry.entries[k.name].configured
	}
	return setting
}

// Family reads the annotations of one family, see RegisterFamily.
type Family[T any] struct{ name string }

// For returns the settings that are given for the port: by its name, by its number, both or none. Those that cannot be
// used are among them and Invalid; their Value is empty. So is one for a port that the Service does not have: any may
// be meant.
func (f Family[T]) For(values Values, port Port) []Setting[T] {
	var settings []Setting[T]
	if values.invalid[f.name] {
		settings = append(settings, Setting[T]{Invalid: true})
	}
	for _, text := range port.text() {
		if setting, found := read[T](values, f.name+text); found {
			settings = append(settings, setting)
		}
	}
	return settings
}

// read returns what an annotation with that name says, if it is there.
func read[T any](values Values, name string) (setting Setting[T], found bool) {
	if value, ok := values.parsed[name].(T); ok {
		return Setting[T]{Value: value, Given: true}, true
	}
	return Setting[T]{Invalid: values.invalid[name]}, values.invalid[name]
}
