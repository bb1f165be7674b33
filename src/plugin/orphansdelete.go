package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

const orphansDeleteDescription = "Deletes orphans in the cloud: those with the UIDs of their Services, or\n" +
	"all. With --namespace, those of other namespaces are not deleted. A volume or a snapshot is deleted only\n" +
	"with its identity. Its data is lost.\n\n" +
	"Before each deletion, the API server is asked whether the Service is really gone. Nothing is written to\n" +
	"Kubernetes. If most objects of the cluster are orphans, nothing is deleted without --force, because this\n" +
	"may be the wrong cluster. The same holds if one of the chosen objects does not have the UID of this\n" +
	"cluster, and is a volume or a snapshot, or has a running machine that is no Node of this cluster as its\n" +
	"target; and for all if that UID may not be read. Retained load balancers and\n" +
	"objects that lost labels are deleted only if they are named by UID, with the flag for them. Before each\n" +
	"volume and snapshot, the API server is asked for its PersistentVolume or VolumeSnapshotContent, and the\n" +
	"cloud for its state: one that a machine uses, or that is protected, is never deleted.\n\n" +
	"The cloud controller manager can run at the same time. It changes only objects of Services that exist,\n" +
	"and this command deletes only objects of Services that do not exist. If both delete the same orphan, the\n" +
	"second deletion finds nothing. But do not delete a load balancer while a Service is about to adopt it:\n" +
	"the adoption, or the deletion, comes too late. And do not delete the objects of a cluster that has the\n" +
	"same name or identity in its configuration: those without a UID look like orphans here. Objects with the\n" +
	"UID of another cluster are never deleted.\n\n" +
	"Without a terminal, each write to the cloud is logged to the error output.\n\n" +
	"Permissions: those of the command orphans. The credentials of the cloud must permit deletions.\n\n" +
	"The exit code is 1 if something was not deleted."

// deletionFlags are the flags of the command.
type deletionFlags struct {
	all, yes, force, retained, unlabelled bool
	timeout                               time.Duration
}

func newOrphansDeleteCommand(s *settings) *cobra.Command {
	var flags deletionFlags
	cmd := &cobra.Command{
		Use: "delete [UID|IDENTITY...]", Short: "Delete objects in the cloud that belong to no Service",
		Long: orphansDeleteDescription, ValidArgsFunction: s.completeOrphans(&flags),
		RunE: func(cmd *cobra.Command, uids []string) error {
			ctx, cancel := limited(cmd.Context(), flags.timeout)
			defer cancel()
			return s.deleteOrphans(ctx, flags, uids)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&flags.all, "all", false, "Delete the orphans of all namespaces, or of that of "+
		"--namespace, except those that --retained and --unlabelled are for.")
	set.BoolVar(&flags.yes, "yes", false, "Do not ask for confirmation.")
	set.BoolVar(&flags.force, "force", false, "Delete also if most objects are orphans, or may be another cluster's.")
	set.BoolVar(&flags.retained, "retained", false, "Delete also retained load balancers whose UID is given.")
	set.BoolVar(&flags.unlabelled, "unlabelled", false, "Delete also objects that lost labels, if the UID is given.")
	set.DurationVar(&flags.timeout, "timeout", defaultTimeout, "The longest time that the command takes. It includes "+
		"the time until you confirm.")
	return cmd
}

func (s *settings) deleteOrphans(ctx context.Context, flags deletionFlags, uids []string) error {
	if flags.all == (len(uids) > 0) {
		return errors.New("name the orphans by their UIDs, or volumes and snapshots by their identities, which " +
			"kubectl thalassa orphans shows, or pass --all")
	}
	opened, err := s.open(ctx, writing)
	if err != nil {
		return err
	}
	found, err := s.chosenOrphans(ctx, opened)
	if err != nil {
		return err
	}
	chosen, err := found.choose(flags, uids)
	if err != nil {
		return err
	}
	if len(chosen.Orphans)+len(chosen.Stored) == 0 {
		s.Terminal.Hint("There is nothing to delete.")
		return nil
	}
	if err := found.checkMost(flags, chosen); err != nil {
		return err
	}
	if err := s.confirmDeletion(ctx, flags, chosen); err != nil {
		return err
	}
	result := OrphanDeletion{Header: s.header(opened, "OrphanDeletion"),
		Orphans: s.deleteAll(s.audited(ctx), opened, chosen.Orphans),
		Stored:  s.deleteStored(s.audited(ctx), opened, chosen.Stored)}
	if err := s.report(result); err != nil {
		return err
	}
	if result.failed() > 0 {
		return exitError(exitProblems)
	}
	return nil
}

// choose returns the orphans that may be deleted. The error names those that the user chose and that may not.
func (o Orphans) choose(flags deletionFlags, ids []string) (Orphans, error) {
	var chosen Orphans
	var problems []error
	known := map[string]bool{}
	for _, one := range o.Orphans {
		known[one.UID] = true
		named := slices.Contains(ids, one.UID)
		switch {
		case !named && (!flags.all || one.Retained || one.Incomplete):
		case one.Retained && !flags.retained:
			problems = append(problems, fmt.Errorf("the load balancer of %s is %s: pass --retained if it is not "+
				"needed any more", one.UID, one.Why))
		case one.Incomplete && !flags.unlabelled:
			problems = append(problems, fmt.Errorf("of %s %s: look at it in the cloud, and pass --unlabelled if it "+
				"is not needed any more", one.UID, one.Why))
		case one.Doubt != "" && !flags.force:
			problems = append(problems, fmt.Errorf("the objects of %s are not deleted: %s. If no other cluster uses "+
				"them, pass --force", one.UID, one.Doubt))
		default:
			chosen.Orphans = append(chosen.Orphans, one)
		}
	}
	for _, one := range o.Stored {
		known[one.Identity] = true
		switch err := one.mayDelete(flags); {
		case !slices.Contains(ids, one.Identity):
		case err != nil:
			problems = append(problems, err)
		default:
			chosen.Stored = append(chosen.Stored, one)
		}
	}
	return chosen, errors.Join(errors.Join(problems...), o.unknown(known, ids))
}

// mayDelete returns why a volume or snapshot is not deleted.
func (o StoredOrphan) mayDelete(flags deletionFlags) error {
	switch {
	case o.Kept != "":
		return fmt.Errorf("the %s is not deleted, because %s", o, o.Kept)
	case o.Doubt != "" && !flags.force:
		return fmt.Errorf("the %s is not deleted, because it may belong to another cluster: %s. If no other cluster "+
			"uses it, pass --force", o, o.Doubt)
	}
	return nil
}

// unknown returns an error if an argument is no orphan.
func (o Orphans) unknown(known map[string]bool, ids []string) error {
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return known[id] })
	if len(missing) == 0 {
		return nil
	}
	within, without := "", ""
	if o.within != "" {
		within = " of the namespace " + o.within
	}
	if o.StoredUnknown != "" {
		without = ". Volumes and snapshots are not known: " + o.StoredUnknown
	}
	return fmt.Errorf("no orphan%s has the UID %s: kubectl thalassa orphans shows them%s", within,
		strings.Join(missing, ", "), without)
}

// checkMost returns an error if nothing of the chosen orphans is deleted without --force, because this may be the wrong
// cluster.
func (o Orphans) checkMost(flags deletionFlags, chosen Orphans) error {
	why := ""
	switch {
	case flags.force:
	case o.Most && len(chosen.Orphans) > 0:
		why = mostOrphans
	case o.MostStored && len(chosen.Stored) > 0:
		why = mostStored
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("nothing is deleted. %s If you are certain, pass --force", why)
}

// confirmDeletion shows what is deleted, and asks.
func (s *settings) confirmDeletion(ctx context.Context, flags deletionFlags, chosen Orphans) error {
	s.showDeletion(chosen)
	switch {
	case flags.yes:
		return nil
	case !s.Terminal.Interactive:
		return errors.New("nothing is deleted without a confirmation: run the command in a terminal, or pass --yes")
	}
	warning := "Addresses of deleted load balancers may be lost."
	if len(chosen.Stored) > 0 {
		warning += " The data of deleted volumes and snapshots is lost."
	}
	if err := s.Terminal.Confirm(ctx, warning, "delete"); err != nil {
		return fmt.Errorf("nothing is deleted: %w", err)
	}
	return nil
}

// showDeletion prints what will be deleted beside the output, which is the result.
func (s *settings) showDeletion(chosen Orphans) {
	shown := s.Terminal.Beside()
	shown.Print("These objects in the cloud will be deleted:\n\n")
	for _, one := range chosen.Stored {
		shown.Indented(0, "", terminal.Bad, one.String())
		if one.Doubt != "" {
			shown.Indented(4, "! ", terminal.Caution, "It may belong to another cluster: "+one.Doubt)
		}
	}
	for _, one := range chosen.Orphans {
		shown.Indented(0, "", terminal.Strong, fmt.Sprintf("Service %s (UID %s)", one.service(), one.UID))
		writeObjects(shown, terminal.Bad, one.Objects)
		if one.Retained || one.Incomplete {
			shown.Indented(4, "! ", terminal.Caution, one.Why)
		}
		if one.Doubt != "" {
			shown.Indented(4, "! ", terminal.Caution, one.Doubt)
		}
	}
	shown.Print("\n")
}

// deleteAll deletes orphans one after the other, and returns what became of each.
func (s *settings) deleteAll(ctx context.Context, from *session, orphans []Orphan) []DeletedOrphan {
	show, done := s.Terminal.Progress()
	defer done()
	offered := from.inspection.Cloud
	results := []DeletedOrphan{}
	for i, one := range orphans {
		result := DeletedOrphan{Namespace: one.Namespace, Name: one.Name, UID: one.UID, Objects: one.Objects}
		step := fmt.Sprintf("Deleting %s (%d of %d)", one.service(), i+1, len(orphans))
		show(step + "…")
		events := &deletionEvents{show: func(text string) { show(step + ": " + text) }}
		d := deletion{session: from, provider: offered.LoadBalancers, behaviour: offered.LoadBalancerBehaviour,
			single: service.NewSingle(offered.LoadBalancers, offered.LoadBalancerBehaviour, events), events: events}
		if err := d.run(ctx, one); err != nil {
			result.Error = err.Error()
		}
		result.Deleted, result.Left = result.Error == "", event.Sentences(events.warnings...)
		results = append(results, result)
	}
	return results
}

// audited returns a context with which each write to the cloud is logged in a line beside the result, as in the log of
// the cloud controller manager. A person at a terminal sees the progress in place of the lines.
func (s *settings) audited(ctx context.Context) context.Context {
	if s.Terminal.Interactive {
		return ctx
	}
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(s.Terminal.Err))))
}

// deletion deletes one orphan.
type deletion struct {
	*session
	provider  cloud.LoadBalancers
	behaviour cloud.LoadBalancerBehaviour
	single    *service.Single
	events    *deletionEvents
}

// run deletes all objects of an orphan. It returns nil when there are none any more.
func (d deletion) run(ctx context.Context, one Orphan) error {
	deleted := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name, UID: types.UID(one.UID)}}
	for {
		if err := d.checkGone(ctx, deleted); err != nil {
			return err
		}
		d.events.warnings = nil // those of the last attempt count
		err := d.single.Delete(ctx, deleted)
		if err == nil {
			return nil
		}
		pause, again := d.pause(err)
		if !again {
			return err
		}
		d.events.show(err.Error())
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w; run the command again to continue", context.Cause(ctx), err)
		}
	}
}

// maxPause is the longest time between two attempts, unless the cloud asks for a longer one. In a cloud that reports
// changes, the interval of the controller is longer, because it works again when something changes.
const maxPause = 5 * time.Second

// pause returns the time until the next attempt after an error. The others need a person.
func (d deletion) pause(err error) (pause time.Duration, again bool) {
	if reason := cloud.ReasonOf(err); reason.Until > 0 && !reason.Lasts() {
		return min(reason.Until, maxPause), true
	}
	transient, after := d.provider.ClassifyError(err)
	return max(after, min(d.behaviour.PollInterval, maxPause)), transient
}

// checkGone asks the API server whether a Service exists.
func (d deletion) checkGone(ctx context.Context, deleted *corev1.Service) error {
	var options metav1.ListOptions
	if deleted.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, deleted.Name).String()
	}
	current, err := d.client.CoreV1().Services(deleted.Namespace).List(ctx, options)
	if err != nil {
		return fmt.Errorf("asking whether the Service is gone: %w", err)
	}
	if slices.ContainsFunc(current.Items, func(one corev1.Service) bool { return one.UID == deleted.UID }) {
		return errors.New("the Service exists")
	}
	return nil
}

// deletionEvents are the events that the controller would record: progress, and warnings about what stays.
type deletionEvents struct {
	show     func(string)
	warnings []string
}

// Event implements record.EventRecorder.
func (d *deletionEvents) Event(_ runtime.Object, kind, _, message string) {
	if d.show(message); kind == corev1.EventTypeWarning {
		d.warnings = append(d.warnings, message)
	}
}

// Eventf implements record.EventRecorder.
func (d *deletionEvents) Eventf(object runtime.Object, kind, reason, format string, values ...any) {
	d.Event(object, kind, reason, fmt.Sprintf(format, values...))
}

// AnnotatedEventf implements record.EventRecorder.
func (d *deletionEvents) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string,
	values ...any) {
	d.Eventf(object, kind, reason, format, values...)
}

var _ terminal.Result = OrphanDeletion{}
