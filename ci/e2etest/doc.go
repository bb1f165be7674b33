// Package e2etest proves in a real cluster that the distribution works: real kubelets on the machines of the emulated
// cloud, the image that `make image` makes, installed by the chart, and packets that go through the cloud's load
// balancers. `make e2e` runs it; `make test` does not, because it needs root.
//
// Tests with a cluster of their own: TestCluster is the chart, TestOutage what happens to it when something stops,
// TestOverlay the overlays, TestUpgrade a chart of before that is upgraded and removed, TestVolumes a chart of the CSI
// driver of before that is upgraded. Each has one thing after another proven, two of them at the same time. TestPage
// has no cluster: it shows the emulator's page in a browser, and takes its picture for the README if PICTURE is set.
//
// dist/e2e has the log of each, with what could not be proved on this machine. When a proof fails, it also has all
// logs, and what the API server, the cloud and the kernel knew then, in a folder of the proof, and in the end. The same
// is in cut-short when the test is ended by a signal, or has 2 minutes left.
package e2etest
