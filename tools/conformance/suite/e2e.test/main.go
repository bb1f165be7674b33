// Command e2e.test is Kubernetes' own suite of end-to-end tests, as far as they are about the network. The program
// ginkgo runs it, for which its name has to end like this. The argument agnhost-image prints the name of the image that
// it runs in pods.
//
// It is a module of its own, outside of the workspace, as the lab is, and in the lab's versions: what is the same is
// compiled once. Package conformance in the tools module builds and runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/component-base/logs"
	_ "k8s.io/kubernetes/test/e2e" // waits for the cluster before the tests
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"   // shows the state after a failure
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init" // the framework calls it after each test
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"    // the framework calls it after each test
	_ "k8s.io/kubernetes/test/e2e/network"                // the tests
	"k8s.io/kubernetes/test/utils/image"
)

func main() {
	if slices.Equal(os.Args[1:], []string{"agnhost-image"}) {
		fmt.Println(image.GetE2EImage(image.Agnhost))
		return
	}
	testing.Init() // ginkgo gives the program flags of tests
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	logs.InitLogs()
	defer logs.FlushLogs()
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	if !ginkgo.RunSpecs(result{}, "Kubernetes e2e suite", suite, reporter) {
		os.Exit(1)
	}
}

// result stands in for the testing.T of a test: RunSpecs returns whether a test has failed.
type result struct{}

// Fail implements ginkgo.GinkgoTestingT.
func (result) Fail() {}
