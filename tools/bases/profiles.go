package bases

// Profile is one way to run the controller manager that the chart has.
type Profile struct {
	// Name of the base's folder, of the overlay's, and of the values file.
	Name string
}

// Profiles returns those that have a base.
func Profiles() []Profile {
	return []Profile{{"self-managed"}, {"managed"}, {"managed-tenant"}, {"ironcore"}, {"ironcore-managed"},
		{"ironcore-permissions"}}
}
