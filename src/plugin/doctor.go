package plugin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
)

const doctorDescription = "Checks the cluster, the cloud controller manager, its configuration and credentials,\n" +
	"its permissions in Kubernetes and in the cloud, every Node and every Service, the CSI driver, and shows\n" +
	"the next step for each problem. Nothing is written, to the cloud or to Kubernetes.\n\n" +
	"The exit code is 0 without problems, also if there are warnings or checks that were not possible. It\n" +
	"is 1 if there is a problem, and 3 if the configuration cannot be read, so that little was checked.\n\n" +
	"Permissions: list Deployments and DaemonSets; get the ConfigMap and Secret of the cloud controller\n" +
	"manager, unless --cloud-config is set; get its Lease; list Nodes; list and watch Services, Nodes and\n" +
	"EndpointSlices. With less, some checks are not possible, and the output says so. With more, it shows\n" +
	"more: create subjectaccessreviews (what the cloud controller manager may do), list pods (why they are\n" +
	"not ready), list events (the latest warning of a Service), list CSINodes, get CSIDrivers and the\n" +
	"ConfigMap of the CSI driver, list PersistentVolumes, PersistentVolumeClaims and VolumeSnapshotContents."

// The sections of the checks, in their order.
const (
	sectionCluster       = "cluster"
	sectionWorkload      = "workload"
	sectionConfiguration = "configuration"
	sectionCloud         = "cloud"
	sectionPermissions   = "permissions"
	sectionNodes         = "nodes"
	sectionServices      = "services"
	sectionStorage       = "storage"
)

func sections() []string {
	return []string{sectionCluster, sectionWorkload, sectionConfiguration, sectionCloud, sectionPermissions,
		sectionNodes, sectionServices, sectionStorage}
}

func newDoctorCommand(s *settings) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "doctor", Short: "Find problems, and the next step for each", Long: doctorDescription, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := limited(cmd.Context(), timeout)
			defer cancel()
			return s.doctor(ctx)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "The longest time that the command takes.")
	return cmd
}

func (s *settings) doctor(ctx context.Context) error {
	d := &doctor{settings: s, session: &session{}}
	d.check(ctx)
	result := Doctor{Header: s.header(d.session, "Doctor"), Checks: d.checks}
	for _, one := range d.checks {
		result.Summary.add(one.Status)
	}
	if err := s.report(result); err != nil {
		return err
	}
	switch {
	case result.Summary.Problems > 0:
		return exitError(exitProblems)
	case d.session.inspection == nil:
		return exitError(exitUnknown)
	}
	return nil
}

// doctor makes the checks. Each one needs what those before it have found.
type doctor struct {
	*settings
	session *session
	process workload.Process
	ours    []string // the Nodes of this cloud
	checks  []Check
	section string
}

// add adds the result of a check in the current section.
func (d *doctor) add(id string, status CheckStatus, message, next string) {
	d.addOf(id, "", status, message, next)
}

// addOf adds the result of a check of an object.
func (d *doctor) addOf(id, object string, status CheckStatus, message, next string) {
	d.addKind("", id, object, status, message, next)
}

// addKind adds the result of a check of an object, of a kind that others may have with another message.
func (d *doctor) addKind(kind, id, object string, status CheckStatus, message, next string) {
	d.checks = append(d.checks, Check{ID: id, Section: d.section, Status: status, Object: object, Message: message,
		Next: next, kind: kind})
}

// fail adds that a check was not possible because of an error.
func (d *doctor) fail(id string, err error) {
	switch {
	case apierrors.IsForbidden(err):
		d.add(id, NotChecked, err.Error(), "Ask for the permission.")
	case apierrors.IsUnauthorized(err):
		d.add(id, CheckProblem, err.Error(), sentence(logIn))
	default:
		d.add(id, CheckProblem, err.Error(), "Check the connections to the API server and to the cloud, and try again.")
	}
}

// sentence returns a text with a capital letter and a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// skip says that the checks with these IDs are not possible, each in its section.
func (d *doctor) skip(why string, sections ...string) {
	for _, section := range sections {
		d.section = section
		d.add(section, NotChecked, why, "")
	}
}

// check makes all checks that are possible.
func (d *doctor) check(ctx context.Context) {
	show, done := d.Terminal.Progress()
	defer done()
	show("Looking at the cluster…")
	if !d.checkCluster(ctx) {
		d.skip("the cluster does not answer", sections()[1:]...)
		return
	}
	d.checkProgram(ctx, show, done)
	d.checkDeletions(ctx)
	slices.SortStableFunc(d.checks, func(a, b Check) int {
		return cmp.Compare(slices.Index(sections(), a.Section), slices.Index(sections(), b.Section))
	})
}

// checkProgram checks the cloud controller manager, and everything that its configuration is necessary for. Show and
// done are those of the progress.
func (d *doctor) checkProgram(ctx context.Context, show func(string), done func()) {
	show("Looking at the cloud controller manager…")
	if !d.checkWorkload(ctx) {
		d.skip("the configuration of the cloud controller manager is not known", sections()[2:]...)
		return
	}
	if !d.checkConfiguration(ctx) {
		d.skip("the configuration cannot be used", sections()[3:]...)
		return
	}
	d.checkLease(ctx)
	show("Asking the cloud what the credentials permit…")
	readable := d.checkCloud(ctx)
	show("Asking Kubernetes what the cloud controller manager may do…")
	d.checkPermissions(ctx)
	done()
	if !readable {
		d.skip("the cloud cannot be read", sectionNodes, sectionServices, sectionStorage)
		return
	}
	d.checkNodes(ctx)
	d.checkServices(ctx)
	d.checkOrphans(ctx)
	d.checkStorage(ctx)
}

// checkDeletions checks whether Services and volumes were deleted, and exist for ever because the program that has to
// finish their deletion is not there: it was uninstalled before them. It needs no configuration.
func (d *doctor) checkDeletions(ctx context.Context) {
	d.section = sectionServices
	d.checkHeldServices(ctx)
	d.section = sectionStorage
	d.checkHeldVolumes(ctx)
}
