package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
)

const migrateDescription = "Checks whether this cloud controller manager can take over from the existing\n" +
	"one: that only one of them runs, that the configuration is valid, what flags and Services mean here, and\n" +
	"what would change in the cloud. In an unchanged cluster, nothing does. Nothing is written.\n\n" +
	"The command uses the configuration of this cloud controller manager if it is installed, and else the\n" +
	"flags and the configuration of the existing one. With --cloud-config, it uses a file: the one that you\n" +
	"are going to install.\n\n" +
	"Permissions: list Deployments and DaemonSets of all namespaces; get the ConfigMap and the Secret with\n" +
	"the configuration, unless --cloud-config is set; list and watch Services, Nodes and EndpointSlices; get\n" +
	"Leases of kube-system.\n\n" +
	"The exit code is 0 if everything is ready, and 1 if a check found a problem or something would change."

func newMigrateCommand(s *settings) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "migrate", Short: "Check a take-over from the existing cloud controller manager", Long: migrateDescription,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := limited(cmd.Context(), timeout)
			defer cancel()
			return s.migrate(ctx)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "The longest time that the command takes.")
	return cmd
}

func (s *settings) migrate(ctx context.Context) error {
	opened, err := s.connect()
	if err != nil {
		return err
	}
	show, done := s.Terminal.Progress()
	defer done()
	show("Looking for cloud controller managers…")
	m := &migration{settings: s, session: opened}
	if err := m.find(ctx); err != nil {
		return err
	}
	show(readingCloud)
	result, err := m.check(ctx)
	if err != nil {
		return err
	}
	done()
	if err := s.report(result); err != nil {
		return err
	}
	if !result.Ready {
		return exitError(exitProblems)
	}
	return nil
}

// migration is a take-over that is checked.
type migration struct {
	*settings
	session  *session
	provider manager.Provider     // the cloud that the existing program is for, or the default one
	former   []*workload.Workload // the existing program
	unproven []*workload.Workload // workloads with its command that nothing proves
	process  workload.Process     // the configuration that is checked
	adopted  bool                 // it is that of the existing program
	result   Migration
}

// find finds the workloads of both programs, and the flags and the configuration to check. The error is that there is
// nothing to check.
func (m *migration) find(ctx context.Context) (err error) {
	if err := m.findFormer(ctx); err != nil {
		return err
	}
	m.process, err = m.findProcess(ctx, m.session, reading)
	m.compareVersions(m.session.workload)
	own := err == nil && m.session.workload != nil
	switch {
	case len(m.former) == 0 && len(m.unproven) > 0 && errors.Is(err, workload.ErrNotFound):
		return fmt.Errorf("%s may be the existing cloud controller manager, and %w: it is not in the namespace %s, "+
			"and its account may not write the status of Services. If it is, pass --ccm=%s/%s", m.unproven[0],
			workload.ErrUnproven, metav1.NamespaceSystem, m.unproven[0].Namespace, m.unproven[0].Name)
	case len(m.former) == 0 && errors.Is(err, workload.ErrNotFound):
		return fmt.Errorf("neither the existing cloud controller manager nor this one is in the cluster. If they run "+
			"elsewhere, pass --cloud-config=FILE, with --ccm-flag=NAME=VALUE for each flag: %w", workload.ErrNotFound)
	case len(m.former) == 0 || err != nil && !errors.Is(err, workload.ErrNotFound) &&
		!errors.Is(err, workload.ErrUnproven):
		return err
	}
	existing, err := m.former[0].Process(ctx)
	if err != nil && m.cloudConfig == "" {
		return err
	}
	if !own {
		m.useExisting(existing)
	}
	return nil
}

// findFormer finds the workloads of the existing program, and its cloud. One that --ccm names is the only one.
func (m *migration) findFormer(ctx context.Context) error {
	m.provider = m.Providers[0]
	for _, provider := range m.Providers {
		former := workload.Former{Cloud: provider.Name, Programs: provider.Former.Programs}
		found, err := workload.FindFormer(ctx, m.session.host, former)
		if err != nil {
			return err
		}
		for _, one := range found {
			switch {
			case m.workload == one.Namespace+"/"+one.Name:
				m.provider, m.former, m.unproven = provider, []*workload.Workload{one}, nil
				return nil
			case one.Proven:
				m.provider, m.former = provider, append(m.former, one)
			default:
				m.unproven = append(m.unproven, one)
			}
		}
	}
	return nil
}

// useExisting makes the flags and the files of the existing program those to check. The executable of a cloud has that
// cloud as its default.
func (m *migration) useExisting(existing workload.Process) {
	args := append([]string{"--cloud-provider=" + m.provider.Name}, existing.Args...)
	m.adopted, m.process.Environment, m.session.mounted = true, existing.Environment, existing.Environment
	if m.cloudConfig != "" {
		m.process.Environment = cloud.Environment{}
		args = append(args, "--cloud-config="+m.cloudConfig) // the last one counts
	}
	for _, one := range m.flags {
		args = append(args, "--"+strings.TrimLeft(one, "-"))
	}
	m.process.Args = args
}

// check makes all checks. The error is that the command itself failed.
func (m *migration) check(ctx context.Context) (Migration, error) {
	header := Header{APIVersion: APIVersion, Kind: "Migration", Cloud: m.provider.Name, PluginVersion: m.Build.Version}
	m.result = Migration{Header: header, Guide: m.Build.Document(m.provider.Former.Guide),
		Services: []ServiceDifference{}}
	header.Kind = "Plan"
	m.result.Plan = Plan{Header: header, Services: []ServicePlan{}} // until it is known
	m.checkWorkloads()
	m.checkFlags()
	if !m.checkConfiguration(m.inspect(ctx, m.session, m.process, reading)) {
		m.add("plan", NotChecked, "The plan needs a valid configuration.", "")
		return m.result.finish(), nil
	}
	m.result.Header = m.header(m.session, "Migration")
	if err := m.checkLease(ctx); err != nil {
		return m.result, err
	}
	if err := m.checkPlan(ctx); err != nil {
		return m.result, err
	}
	return m.result.finish(), nil
}

// checkWorkloads checks that the programs do not run at the same time.
func (m *migration) checkWorkloads() {
	ours := m.session.workload != nil && m.session.workload.Desired > 0
	running := 0
	for _, one := range m.former {
		m.result.Existing = append(m.result.Existing, one.String())
		if one.Desired == 0 {
			m.add("existing", CheckOK, fmt.Sprintf("The existing %s is stopped (0 pods).", one), "")
			continue
		}
		running++
		stop := fmt.Sprintf("kubectl delete %s %s --namespace %s", strings.ToLower(one.Kind), one.Name, one.Namespace)
		what := fmt.Sprintf("The existing %s runs (%s, image "+
			"%s).", one, count(int(one.Desired), "pod"), one.Container.Image)
		if ours {
			m.add("existing", CheckProblem, what+" "+m.session.workload.String()+" runs at the same time.",
				"Stop the existing one, and delete nothing else: "+stop)
			continue
		}
		m.add("existing", CheckOK, what, "When you change over, stop it and delete nothing else: "+stop)
	}
	if len(m.unproven) > 0 {
		m.add("existing", CheckWarning, fmt.Sprintf("%s may be the existing cloud controller manager, and %v.",
			workload.Names(m.unproven), workload.ErrUnproven), "Look at who made it. If it is, stop it.")
	}
	switch {
	case len(m.former) == 0:
		m.add("existing", CheckOK, "The existing cloud controller manager is not in the cluster.", "")
	case running > 1:
		m.add("existing", CheckProblem, "Several existing cloud controller managers run at the same time.",
			"Find out which one this cluster needs, and stop the others.")
	}
}

// meanings returns what flags mean here that have no effect in the programs that this one replaces.
func meanings() map[string]string {
	return map[string]string{
		"--allocate-node-cidrs=true": "--allocate-node-cidrs allocates the pod networks of Nodes here. Remove it if " +
			"kube-controller-manager, or another program, allocates them.",
		"--leader-elect=false": "Without --leader-elect, nothing prevents that both programs work at the same time. " +
			"Stop the existing one before you start this one.",
	}
}

// checkFlags checks the flags of the existing program. Flags of this program are intended, whatever they mean.
func (m *migration) checkFlags() {
	if !m.adopted && len(m.former) == 0 {
		return
	}
	if !m.adopted {
		m.add("flags", NotChecked, "The flags are those of this program, not of the existing one.", "")
		return
	}
	values := map[string]string{}
	for _, arg := range m.process.Args {
		name, value, given := strings.Cut(arg, "=")
		if !given {
			value = "true"
		}
		values[name] = value // the last one counts
	}
	before, meanings := len(m.result.Checks), meanings()
	for _, flag := range slices.Sorted(maps.Keys(meanings)) {
		name, value, _ := strings.Cut(flag, "=")
		if values[name] == value {
			m.add("flags", CheckProblem, meanings[flag],
				"Check again with --ccm-flag if this program gets another value.")
		}
	}
	if len(m.result.Checks) == before {
		m.add("flags", CheckOK, "The flags of the existing program mean the same here.", "")
	}
}

// checkConfiguration reports the error of the configuration, or what is read differently. It returns whether the
// configuration is valid.
func (m *migration) checkConfiguration(err error) bool {
	if err != nil {
		m.add("configuration", CheckProblem, err.Error(), "Correct it, and check it with --cloud-config=FILE.")
		return false
	}
	file := m.session.inspection.ConfigFile
	source := "the existing program"
	switch {
	case m.cloudConfig != "":
		source = "this computer"
	case m.session.workload != nil:
		source = m.session.workload.String()
	}
	m.add("configuration", CheckOK, fmt.Sprintf("%s of %s is valid.", file, source), "")
	for _, warning := range m.warnings(m.session, m.process) {
		m.add("configuration", CheckWarning, warning, "")
	}
	return true
}

// checkLease reports who holds the lease that both programs use.
func (m *migration) checkLease(ctx context.Context) error {
	namespace, name := m.session.inspection.LeaseNamespace, m.session.inspection.LeaseName
	lease, err := m.session.client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		m.add("lease", CheckOK, fmt.Sprintf("Nobody holds the lease %s/%s.", namespace, name), "")
	case apierrors.IsForbidden(err):
		m.add("lease", NotChecked, fmt.Sprintf("You may not read the lease %s/%s.", namespace, name), "")
	case err != nil:
		return fmt.Errorf("reading the lease %s/%s: %w", namespace, name, err)
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil:
		m.add("lease", CheckOK, fmt.Sprintf("Nobody holds the lease %s/%s.", namespace, name), "")
	default:
		age := time.Since(lease.Spec.RenewTime.Time).Round(time.Second)
		text := fmt.Sprintf("%s holds the lease %s/%s, and renewed it %s "+
			"ago.", *lease.Spec.HolderIdentity, namespace, name, age)
		if len(m.former) == 0 && m.session.workload == nil && age < recentRenewal {
			m.add("lease", CheckWarning, text, "A cloud controller manager runs that is not in this cluster. Find and "+
				"stop it.")
			return nil
		}
		m.add("lease", CheckOK, text, "")
	}
	return nil
}

// recentRenewal is the age of a renewal up to which the holder of a lease certainly runs. It is several times the
// default duration of the lease.
const recentRenewal = time.Minute

// checkPlan compares all Services, and reports what changes for them.
func (m *migration) checkPlan(ctx context.Context) error {
	err := m.session.observe(ctx)
	if err == nil {
		err = m.refresh(ctx, m.session)
	}
	if err != nil {
		m.add("plan", CheckProblem, err.Error(), "Check the address of the cloud and the credentials in the "+
			"configuration, and the network.")
		return nil
	}
	previews, err := m.previews(ctx, m.session, choice{})
	if err != nil {
		return err
	}
	m.result.Plan = m.newPlan(m.session, previews)
	for _, one := range previews {
		m.addDifferences(one.Service)
	}
	summary := m.result.Plan.Summary
	switch {
	case summary.Errors > 0:
		m.add("plan", CheckProblem, fmt.Sprintf("The difference of %s is not known.",
			count(summary.Errors, "Service")), "")
	case summary.Changed+summary.Refused > 0:
		m.add("plan", CheckProblem, fmt.Sprintf(
			"%s would change in the cloud: %d to create, %d to update, %d to delete.%s",
			count(summary.Changed, "Service"), summary.Create, summary.Update, summary.Delete, summary.rest()),
			"Read the plan below. Ask the owners of the Services whether they want the changes.")
	case summary.Services == 0:
		m.add("plan", CheckOK, "No Service has a load balancer.", "")
	default:
		m.add("plan", CheckOK, fmt.Sprintf("Nothing would change in the cloud for %s.",
			count(summary.Services, "Service")), "")
	}
	return nil
}

// addDifferences adds what changes for a Service, as far as it is known from the Service itself.
func (m *migration) addDifferences(one *corev1.Service) {
	if m.provider.Former.Differences == nil {
		return
	}
	if found := m.provider.Former.Differences(one); len(found) > 0 {
		m.result.Services = append(m.result.Services,
			ServiceDifference{Namespace: one.Namespace, Name: one.Name, Differences: found})
	}
}
