// Package gitopstest holds the tests of examples/argocd and examples/flux: every resource has the fields its controller
// knows and no other, refers to what this repository holds, and installs something without hooks and ignored
// differences. That applying it again changes nothing is tested beside the overlays, in ci/kustomizetest.
package gitopstest

// Application is as much of Argo CD's Application as the examples use, by the names in its custom resource definition.
// Argo CD's own Go types come with all of Argo CD.
type Application struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Project     string      `json:"project"`
		Source      Source      `json:"source"`
		Destination Destination `json:"destination"`
		SyncPolicy  SyncPolicy  `json:"syncPolicy"`
	} `json:"spec"`
}

// Source is where Argo CD finds manifests: a folder of a Git repository at a revision.
type Source struct {
	RepoURL        string `json:"repoURL"`
	TargetRevision string `json:"targetRevision"`
	Path           string `json:"path"`
	Helm           *struct {
		ReleaseName  string         `json:"releaseName"`
		ValuesObject map[string]any `json:"valuesObject"`
	} `json:"helm,omitempty"`
}

// Destination is the cluster, by the URL of its API server or by the name that Argo CD has for it, and the namespace
// that Argo CD installs into.
type Destination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace"`
}

// SyncPolicy is what Argo CD does without being asked.
type SyncPolicy struct {
	Automated struct {
		Prune    bool `json:"prune"`
		SelfHeal bool `json:"selfHeal"`
	} `json:"automated"`
	SyncOptions []string `json:"syncOptions"`
}
