package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
)

// access is what a command may do.
type access int

const (
	reading access = iota // neither Kubernetes nor the cloud is written to
	writing               // objects in the cloud may be deleted
)

// session is a cluster with its cloud controller manager and its cloud.
type session struct {
	// client is of the cluster that the cloud controller manager works for.
	client kubernetes.Interface
	// host is of the cluster in which it runs. With the profile managed, that is another one.
	host kubernetes.Interface
	// workload is nil if the cloud controller manager is not in the cluster, so that a file configures the cloud.
	workload   *workload.Workload
	inspection *manager.Inspection
	// mounted are the files and variables of the workload; those of this process without a workload.
	mounted cloud.Environment
}

// readingCloud is the step that takes longest in most commands.
const readingCloud = "Reading the cloud…"

// open returns the session that the flags describe. It lasts until ctx ends.
func (s *settings) open(ctx context.Context, a access) (*session, error) {
	opened, err := s.connect()
	if err != nil {
		return nil, err
	}
	show, done := s.Terminal.Progress()
	defer done()
	show("Looking for the cloud controller manager…")
	process, err := s.findProcess(ctx, opened)
	if err != nil {
		return nil, err
	}
	if err := s.checkTrusted(opened.workload, a); err != nil {
		return nil, err
	}
	s.compareVersions(opened.workload)
	show(readingCloud)
	if err := s.inspect(ctx, opened, process, a); err != nil {
		return nil, err
	}
	return opened, opened.observe(ctx)
}

// connect returns a session with the cluster of the kubeconfig only.
func (s *settings) connect() (*session, error) {
	config, err := s.kubeconfig.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig (choose one with --kubeconfig or KUBECONFIG): %w", err)
	}
	client, err := s.Client(onlyReading(config))
	if err != nil {
		return nil, err
	}
	return &session{client: client, host: client}, nil
}

// inspect makes the cloud of a process, and the client of the cluster that the process works for.
func (s *settings) inspect(ctx context.Context, opened *session, process workload.Process, a access) (err error) {
	opened.inspection, err = manager.Inspect(ctx, s.Build, s.Providers, process.Args, process.Environment, a == reading)
	if err != nil {
		return fmt.Errorf("using the configuration of the cloud controller manager: %w", err)
	}
	if err := opened.followKubeconfig(s.Client); err != nil {
		return err
	}
	return opened.identify(ctx)
}

// identify tells the cloud the UID of the cluster, if it needs it and the user may read it. Without it, orphans may
// belong to another cluster.
func (s *session) identify(ctx context.Context) error {
	identity := s.inspection.Cloud.ClusterIdentity
	if identity == nil {
		return nil
	}
	uid, err := cloud.ReadClusterUID(ctx, s.client)
	switch {
	case err == nil:
		identity.SetUID(uid)
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return err
	}
	return nil
}

// warnings returns what is accepted in the configuration of an inspected process, and is dangerous or should be written
// in another way.
func (s *settings) warnings(opened *session, process workload.Process) []string {
	for _, provider := range s.Providers {
		if provider.Name == opened.inspection.Cloud.Name && provider.Warnings != nil {
			return provider.Warnings(opened.inspection.ConfigFile, process.Environment)
		}
	}
	return nil
}

// observe reads the cloud.
func (s *session) observe(ctx context.Context) error {
	if observe := s.inspection.Cloud.Observe; observe != nil {
		if err := observe(ctx); err != nil {
			return fmt.Errorf("reading the cloud: %w", err)
		}
	}
	return nil
}

// checkTrusted refuses to write with the configuration of a workload that the user has not named. Whoever may create a
// Deployment in any namespace could have made it; those of kube-system are the administrators'.
func (s *settings) checkTrusted(found *workload.Workload, a access) error {
	if a == reading || found == nil || s.workload != "" || found.Namespace == metav1.NamespaceSystem {
		return nil
	}
	return fmt.Errorf("nothing is written to the cloud with the configuration of %s, which is not in the namespace "+
		"%s: if it is the cloud controller manager of this cluster, pass --ccm=%s/%s", found, metav1.NamespaceSystem,
		found.Namespace, found.Name)
}

// compareVersions prints a hint if the plug-in is not of the version of the cloud controller manager: the differences
// that it computes may be others.
func (s *settings) compareVersions(with *workload.Workload) {
	if with == nil {
		return
	}
	theirs, ours := with.Version(), s.Build.Version
	if theirs == "" {
		s.Terminal.Hint(fmt.Sprintf("The version of %s is not known, because its image has no tag and it has no label "+
			"of its version. Results may differ from what it does if it is not version %s.", with, ours))
		return
	}
	if strings.TrimPrefix(theirs, "v") != strings.TrimPrefix(ours, "v") {
		s.Terminal.Hint(fmt.Sprintf("Warning: kubectl thalassa has version %s, and %s %s. Results may differ from "+
			"what it does. Use the plug-in of its version.", ours, with, theirs))
	}
}

// newClient is the default of Options.Client.
func newClient(config *rest.Config) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of Kubernetes: %w", err)
	}
	return client, nil
}

// errNoWorkload explains what a user can do who has neither the workload nor a file.
const errNoWorkload = "%w. If your provider runs it outside the cluster (profile managed), its configuration and its " +
	"credentials are not in the cluster: ask your provider for the result of this command. With credentials of your " +
	"own for the cloud, pass --cloud-config=FILE"

// findProcess returns the flags and the environment of the cloud controller manager. With --cloud-config they are those
// of the workload, if there is one, except for the configuration and what it refers to, which are on this computer.
func (s *settings) findProcess(ctx context.Context, into *session) (workload.Process, error) {
	found, err := workload.Find(ctx, into.host, s.workload)
	local := s.cloudConfig != ""
	switch {
	case errors.Is(err, workload.ErrNotFound) && !local:
		return workload.Process{}, fmt.Errorf(errNoWorkload, err)
	case apierrors.IsForbidden(err) && local && s.workload == "":
		s.Terminal.Hint(fmt.Sprintf("The flags of the cloud controller manager are not known, and have their "+
			"defaults: %v", err))
	case err != nil && !errors.Is(err, workload.ErrNotFound), err != nil && s.workload != "":
		return workload.Process{}, err
	}
	var process workload.Process
	if err == nil {
		into.workload = found
		if found.Namespace != metav1.NamespaceSystem && s.workload == "" {
			s.Terminal.Hint(fmt.Sprintf("Using %s.", found))
		}
		if process, err = found.Process(ctx); err != nil {
			return workload.Process{}, err
		}
		into.mounted = process.Environment
	}
	if local {
		process.Environment = cloud.Environment{}
		process.Args = append(process.Args, "--cloud-config="+s.cloudConfig) // the last one counts
	}
	for _, one := range s.flags {
		process.Args = append(process.Args, "--"+strings.TrimLeft(one, "-"))
	}
	return process, nil
}
