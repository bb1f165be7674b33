package zz

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/thalassa-cloud/thalassa-ccm/src/zz"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "helm.sh/helm/v3/pkg/action"
	_ "helm.sh/helm/v3/pkg/chart/loader"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/client-go/util/cert"
	_ "k8s.io/client-go/dynamic"
	_ "sigs.k8s.io/yaml"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
)
