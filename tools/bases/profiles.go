package bases

import "path"

// CSI is the profile of the CSI driver. It has a chart and a namespace of its own.
const CSI = "csi"

// Profile is one way to run the controller manager, or the CSI driver.
type Profile struct {
	// Name of the base's folder, of the overlay's, and of the values file.
	Name string
}

// Profiles returns those that have a base.
func Profiles() []Profile {
	return []Profile{{"self-managed"}, {"managed"}, {"managed-tenant"}, {"ironcore"}, {"ironcore-managed"},
		{"ironcore-permissions"}, {CSI}}
}

// Chart is the name of the chart, and of the release that the base is rendered from.
func (p Profile) Chart() string {
	if p.Name == CSI {
		return "thalassa-csi"
	}
	return ReleaseName
}

// Namespace is where those objects are that need not be somewhere else.
func (p Profile) Namespace() string {
	if p.Name == CSI {
		return "thalassa-system"
	}
	return Namespace
}

// chartDir is below the root of the repository.
func (p Profile) chartDir() string { return path.Join("charts", p.Chart()) }
