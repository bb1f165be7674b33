package zz

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/thalassa-cloud/thalassa-ccm/src/zz"
	_ "github.com/thalassa-cloud/thalassa-ccm/tools/zz"
	_ "helm.sh/helm/v3/pkg/action"
	_ "k8s.io/client-go/kubernetes/scheme"
	_ "sigs.k8s.io/yaml"
	_ "golang.org/x/tools/go/packages"
)
