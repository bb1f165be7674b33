package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

const topDescription = "Shows load balancers with their state, addresses, ports and targets, and how many\n" +
	"calls the cloud controller manager makes. On a terminal, it refreshes in place until you press q or\n" +
	"Ctrl-C. Nothing is written.\n\n" +
	"Each refresh lists the load balancers, target groups and machines in the cloud once, with calls of this\n" +
	"command. In a cloud that reports changes, such as IronCore, it makes no calls.\n\n" +
	"Calls and writes are those of the cloud controller manager. At first they are the average since it\n" +
	"started, then those of the last minute.\n\n" +
	"Permissions: those of the command plan. For calls and writes also: list Pods and get pods/proxy in the\n" +
	"namespace of the cloud controller manager. The API server's proxy shows the pod no user, so that\n" +
	"by default the pod does not answer. Then one line says so, and everything else is shown. The flag\n" +
	"--authorization-always-allow-paths of the cloud controller manager can permit it."

// topFlags are the flags of the command.
type topFlags struct {
	once     bool
	interval time.Duration
	sort     string
}

// sortings are the values of --sort.
func sortings() []string { return []string{"name", "targets", "state"} }

// minInterval is the least time between two refreshes, so that the command leaves the cloud's limit of calls to others.
const minInterval = time.Second

func newTopCommand(s *settings) *cobra.Command {
	var flags topFlags
	cmd := &cobra.Command{
		Use: "top [SERVICE]", Short: "Show load balancers, and refresh in place",
		Long: topDescription + "\nSee " + s.Build.Document("docs/guides/kubectl.md") + ".",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: s.completeArgument(listServices),
		RunE: func(cmd *cobra.Command, args []string) error { return s.top(cmd.Context(), flags, args) },
	}
	set := cmd.Flags()
	set.BoolVar(&flags.once, "once", false, "Print once and end. This is the default without a terminal.")
	set.DurationVar(&flags.interval, "interval", 5*time.Second, "The time between two refreshes.")
	set.StringVar(&flags.sort, "sort", "name", "The order: name, targets (most first) or state.")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(sortings(), // the flag exists
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// newTicker is the default of Options.Ticker.
func newTicker(interval time.Duration) (ticks <-chan time.Time, stop func()) {
	ticker := time.NewTicker(interval)
	return ticker.C, ticker.Stop
}

func (s *settings) top(ctx context.Context, flags topFlags, args []string) error {
	if !slices.Contains(sortings(), flags.sort) {
		return fmt.Errorf("--sort=%s: want one of %s", flags.sort, strings.Join(sortings(), ", "))
	}
	if flags.interval < minInterval {
		return fmt.Errorf("--interval=%s: want at least %s", flags.interval, minInterval)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened, err := s.openWithin(ctx, defaultTimeout)
	if err != nil {
		return err
	}
	previewer, err := s.previewer(ctx, opened)
	if err != nil {
		return err
	}
	t := &topView{settings: s, session: opened, previewer: previewer, chosen: s.chosen(args),
		sort: flags.sort, rates: rates{workload: opened.workload}}
	format := terminal.Format(s.format)
	if flags.once || s.Terminal.Raw == nil || !format.ForPeople() {
		result, err := t.read(ctx)
		if err != nil {
			return err
		}
		return s.report(result)
	}
	s.Terminal.Steps = false // refreshes are in place
	ticks, stop := s.Ticker(flags.interval)
	defer stop()
	return s.Terminal.Live(ctx, ticks, func(ctx context.Context, to terminal.Terminal) error {
		return t.draw(ctx, to, format)
	})
}

// openWithin opens a session that lasts until ctx ends. The error is also that this takes too long.
func (s *settings) openWithin(ctx context.Context, limit time.Duration) (*session, error) {
	ctx, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { stop(fmt.Errorf("not ready after %s", limit)) })
	defer timer.Stop()
	return s.open(ctx, reading)
}

// topView reads what the command shows.
type topView struct {
	*settings
	session   *session
	previewer *service.Previewer
	chosen    choice
	sort      string
	rates     rates
	last      Top // what was read last
	refreshed bool
}

// draw shows what is read now. If that fails, it shows what was read last, and the error.
func (t *topView) draw(ctx context.Context, to terminal.Terminal, format terminal.Format) error {
	result, err := t.read(ctx)
	switch {
	case err == nil:
		t.last = result
	case t.last.Kind == "" || ctx.Err() != nil:
		return err
	default:
		t.last.Problem = err.Error()
	}
	return to.Report(format, t.last)
}

// read reads everything.
func (t *topView) read(ctx context.Context) (Top, error) {
	result := Top{Header: t.header(t.session, "Top"), At: time.Now(), LoadBalancers: []LoadBalancer{},
		within: t.chosen.namespace}
	if t.refreshed {
		// No error is reported when a watch ends. Without this, old Services would be shown as new ones.
		_, err := t.session.client.CoreV1().Services(t.chosen.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return result, fmt.Errorf("reading Services: %w", err)
		}
	}
	t.refreshed = true
	if err := t.refresh(ctx, t.session); err != nil {
		return result, err
	}
	previews, err := t.previewsBy(ctx, t.previewer, t.chosen)
	if err != nil {
		return result, err
	}
	for _, one := range previews {
		result.LoadBalancers = append(result.LoadBalancers, newLoadBalancer(one))
	}
	result.sort(t.sort)
	result.Calls, err = t.rates.read(ctx, t.session.host, result.At)
	if err != nil {
		result.CallsUnknown = err.Error()
	}
	return result, nil
}

func newLoadBalancer(p service.Preview) LoadBalancer {
	planned := newServicePlan(p)
	shown := LoadBalancer{Namespace: planned.Namespace, Name: planned.Name, UID: planned.UID,
		State: cmp.Or(planned.State, "none"), Addresses: planned.Addresses, Targets: planned.Targets,
		Health: planned.Health, Error: planned.Error, InSync: planned.inSync()}
	for _, port := range p.Service.Spec.Ports {
		shown.Ports = append(shown.Ports, fmt.Sprintf("%d/%s", port.Port, cmp.Or(port.Protocol, corev1.ProtocolTCP)))
	}
	for _, one := range p.Service.Status.Conditions {
		if strings.HasPrefix(one.Type, "LoadBalancer") && one.LastTransitionTime.After(shown.Changed) {
			shown.Changed = one.LastTransitionTime.Time
		}
	}
	return shown
}

// sort sorts the load balancers: by name, and before that as the user wants it.
func (t *Top) sort(by string) {
	slices.SortStableFunc(t.LoadBalancers, func(a, b LoadBalancer) int {
		switch by {
		case "targets":
			return cmp.Compare(b.Targets, a.Targets)
		case "state":
			return cmp.Compare(a.State, b.State)
		}
		return 0 // they are sorted by name
	})
}
