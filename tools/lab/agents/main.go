// Command agents is what runs on a node of Kubernetes, in one executable: the kubelet and kube-proxy. The first
// argument chooses the component, the others are that component's own flags:
//
//	agents kubelet --help
//
// They are not part of the lab's other executable, the control plane, because only clusters of real nodes need them,
// and the demo would compile them for nothing.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // makes --logging-format=json known
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/thalassa-cloud/thalassa-ccm/tools/lab/multicall"
)

func main() {
	os.Exit(multicall.Run("agents", components(), os.Args, os.Stderr))
}

// components lists what the executable can be.
func components() map[string]func() int {
	return map[string]func() int{
		"kube-proxy": func() int { return cli.Run(proxy.NewProxyCommand()) },
		"kubelet":    func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	}
}
