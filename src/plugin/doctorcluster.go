package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
)

// Minor versions of Kubernetes that are supported; see docs/explanation/versions.md.
const (
	oldestMinor = 33
	newestMinor = 37
)

// checkCluster checks whether the API server answers, and its version.
func (d *doctor) checkCluster(ctx context.Context) bool {
	d.section = sectionCluster
	opened, err := d.connect()
	if err != nil {
		d.add("kubernetes", CheckProblem, err.Error(), "Choose a cluster with --kubeconfig or --context.")
		return false
	}
	d.session = opened
	asked := discovery.ToServerVersionInterfaceWithContext(opened.host.Discovery())
	answer, err := asked.ServerVersionWithContext(ctx)
	if err != nil {
		d.add("kubernetes", CheckProblem, "The API server does not answer: "+err.Error(),
			"Check the address and the credentials in your kubeconfig.")
		return false
	}
	d.add("kubernetes", CheckOK, "The API server answers.", "")
	parsed, err := version.ParseGeneric(answer.GitVersion)
	supported := err == nil && parsed.Major() == 1 && parsed.Minor() >= oldestMinor && parsed.Minor() <= newestMinor
	if !supported {
		d.add("kubernetes-version", CheckWarning, fmt.Sprintf("Kubernetes has version %s. This version of the plug-in "+
			"is tested with 1.%d to 1.%d.", answer.GitVersion, oldestMinor, newestMinor),
			"Use a release of the cloud controller manager that supports this version of Kubernetes.")
		return true
	}
	d.add("kubernetes-version", CheckOK, "Kubernetes has version "+answer.GitVersion+".", "")
	return true
}

// checkWorkload checks the Deployment or DaemonSet, and returns whether its flags are known.
func (d *doctor) checkWorkload(ctx context.Context) bool {
	d.section = sectionWorkload
	process, err := d.findProcess(ctx, d.session, reading)
	found := d.session.workload
	switch {
	case found != nil:
		d.add("workload", CheckOK, found.String()+" runs the cloud controller manager.", "")
		d.checkPods(ctx, found)
		d.checkVersion(found)
	case err == nil:
		d.add("workload", NotChecked, "The cluster has no cloud controller manager, or it cannot be found. The checks "+
			"use the file in --cloud-config.", "If it should be in this cluster, install it, or name it with --ccm.")
	}
	switch {
	case err == nil:
		d.process = process
		return true
	case errors.Is(err, workload.ErrNotFound):
		d.add("workload", CheckProblem, "No cloud controller manager was found in this cluster.", "Install it. If "+
			"your provider runs it outside the cluster, ask your provider, or pass --cloud-config=FILE with "+
			"credentials of your own.")
	case apierrors.IsForbidden(err) && found == nil:
		d.add("workload", NotChecked, err.Error(), "Ask for the permission to list Deployments and DaemonSets.")
	case errors.Is(err, workload.ErrUnproven):
		d.add("workload", NotChecked, err.Error(), "Look at who made it, and name the right one with --ccm.")
	case apierrors.IsUnauthorized(err):
		d.fail("workload", err)
	case found == nil:
		d.add("workload", CheckProblem, err.Error(), "Name the workload with --ccm=NAMESPACE/NAME.")
	default:
		d.add("workload-flags", CheckProblem, err.Error(), "Correct the arguments of its container, or what they "+
			"refer to.")
	}
	return false
}

// checkPods checks whether the pods are ready, and says why not.
func (d *doctor) checkPods(ctx context.Context, of *workload.Workload) {
	text := fmt.Sprintf("%d of %s ready.", of.Ready, count(int(of.Desired), "pod"))
	text = event.Sentences(append([]string{text}, d.podReasons(ctx, of)...)...)
	next := fmt.Sprintf("See kubectl -n %s describe pods, and their log.", of.Namespace)
	switch {
	case of.Desired == 0:
		d.add("workload-pods", CheckProblem, "No pod is wanted, so that nothing runs.", "Set replicas, or check the "+
			"node selector of the DaemonSet.")
	case of.Ready == 0:
		d.add("workload-pods", CheckProblem, text, next)
	case of.Ready < of.Desired:
		d.add("workload-pods", CheckWarning, text, next)
	case of.Updated < of.Desired:
		d.add("workload-pods", CheckWarning, fmt.Sprintf("%s %d of them are not updated yet.", text,
			of.Desired-of.Updated),
			next)
	default:
		d.add("workload-pods", CheckOK, text, "")
	}
}

// podReasons returns why containers of the workload do not run, if the user may list pods.
func (d *doctor) podReasons(ctx context.Context, of *workload.Workload) []string {
	if of.Ready >= of.Desired {
		return nil
	}
	pods, err := d.session.host.CoreV1().Pods(of.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(of.Selector)})
	if err != nil {
		return nil
	}
	var reasons []string
	for _, pod := range pods.Items {
		for _, one := range pod.Status.ContainerStatuses {
			if why := waitingReason(one); why != "" {
				reasons = append(reasons, fmt.Sprintf("Pod %s: %s.", pod.Name, why))
			}
		}
	}
	return reasons
}

func waitingReason(of corev1.ContainerStatus) string {
	switch waiting := of.State.Waiting; {
	case waiting == nil:
		return ""
	case waiting.Message == "":
		return waiting.Reason
	default:
		return waiting.Reason + ", " + strings.TrimSuffix(waiting.Message, ".")
	}
}

func (d *doctor) checkVersion(of *workload.Workload) {
	theirs, ours := of.Version(), d.Build.Version
	switch {
	case theirs == "":
		d.add("workload-version", NotChecked, "Its version is not known: its image has no tag, and it has no "+
			"label of its version.", "")
	case strings.TrimPrefix(theirs, "v") != strings.TrimPrefix(ours, "v"):
		d.add("workload-version", CheckWarning, fmt.Sprintf("It has version %s, and this plug-in %s. Checks of Nodes "+
			"and Services may differ from what it does.", theirs, ours), "Use the plug-in of version "+theirs+".")
	default:
		d.add("workload-version", CheckOK, "It has version "+theirs+", as this plug-in.", "")
	}
}

// checkConfiguration makes the cloud from the configuration, and returns whether that is possible.
func (d *doctor) checkConfiguration(ctx context.Context) bool {
	d.section = sectionConfiguration
	files := &forbiddenFiles{Files: d.process.Environment.Files}
	if files.Files != nil {
		d.process.Environment.Files = files
	}
	if err := d.inspect(ctx, d.session, d.process, reading); err != nil {
		if files.err != nil {
			d.add("configuration", NotChecked, files.err.Error(), "")
			return false
		}
		d.add("configuration", CheckProblem, err.Error(), "Correct it. thalassa-cloud-controller-manager validate "+
			"FILE checks a file.")
		return false
	}
	inspection := d.session.inspection
	d.add("configuration", CheckOK, fmt.Sprintf("%s is valid, for the cloud %s.", inspection.ConfigFile,
		inspection.Cloud.Name), "")
	for _, warning := range d.warnings(d.session, d.process) {
		d.add("configuration-warning", CheckWarning, warning, "")
	}
	given := ""
	if d.session.workload == nil {
		given = "With the flags of this command: "
	}
	for _, name := range slices.Sorted(maps.Keys(inspection.Controllers)) {
		text := "It is enabled."
		if why := inspection.Controllers[name]; why != "" {
			text = "It does not run: " + why + "."
		}
		d.addOf("controller", name, CheckOK, given+text, "")
	}
	return true
}

// forbiddenFiles are files that remember why the user may not read one: the errors of configurations do not contain it.
type forbiddenFiles struct {
	cloud.Files
	err error
}

// Open implements cloud.Files.
func (f *forbiddenFiles) Open(path string) (io.ReadCloser, error) {
	file, err := f.Files.Open(path)
	f.remember(err)
	return file, err
}

// Resolve implements cloud.Files.
func (f *forbiddenFiles) Resolve(directory string) (string, error) {
	resolved, err := f.Files.Resolve(directory)
	f.remember(err)
	return resolved, err
}

func (f *forbiddenFiles) remember(err error) {
	if apierrors.IsForbidden(err) {
		f.err = err
	}
}

// checkLease checks whether a process is the leader.
func (d *doctor) checkLease(ctx context.Context) {
	d.section = sectionConfiguration
	inspection := d.session.inspection
	if !inspection.LeaderElection {
		d.add("lease", CheckOK, "There is no leader election.", "")
		return
	}
	state, led, err := d.session.leader(ctx, inspection.LeaseNamespace, inspection.LeaseName)
	switch {
	case err != nil:
		d.fail("lease", err)
	case led:
		d.add("lease", CheckOK, state, "")
	default:
		d.add("lease", CheckProblem, state, "See the log of the cloud controller manager, and whether its pods run.")
	}
}

// leader describes who holds a Lease, and reports whether a process is the leader.
func (s *session) leader(ctx context.Context, namespace, leaseName string) (state string, led bool, err error) {
	name := namespace + "/" + leaseName
	found, err := s.client.CoordinationV1().Leases(namespace).Get(ctx, leaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "No process has been the leader: the Lease " + name + " does not exist.", false, nil
	case err != nil:
		return "", false, fmt.Errorf("the Lease %s cannot be read: %w", name, err)
	}
	holder := ptr.Deref(found.Spec.HolderIdentity, "")
	if holder == "" {
		return "No process is the leader: nobody holds the Lease " + name + ".", false, nil
	}
	age := time.Since(ptr.Deref(found.Spec.RenewTime, metav1.MicroTime{}).Time).Round(time.Second)
	duration := found.Spec.LeaseDurationSeconds
	if duration == nil || age > time.Duration(*duration)*time.Second {
		return fmt.Sprintf("The leader %s does not renew the Lease %s: the last time was %s ago.", holder, name, age),
			false, nil
	}
	return fmt.Sprintf("The leader is %s, which renewed the Lease %s %s ago.", holder, name, age), true, nil
}
