package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

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
	// client is of the cluster that the cloud controller manager works for, and objects of its other objects.
	client  kubernetes.Interface
	objects dynamic.Interface
	// host is of the cluster in which it runs. With the profile managed, that is another one.
	host kubernetes.Interface
	// workload is nil if the cloud controller manager is not in the cluster, so that a file configures the cloud.
	workload   *workload.Workload
	inspection *manager.Inspection
	uid        types.UID // of the cluster; "" if it is not known
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
	process, err := s.findProcess(ctx, opened, a)
	if err != nil {
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
	client, objects, err := s.clients(config)
	if err != nil {
		return nil, err
	}
	return &session{client: client, objects: objects, host: client}, nil
}

// inspect makes the cloud of a process, and the client of the cluster that the process works for.
func (s *settings) inspect(ctx context.Context, opened *session, process workload.Process, a access) (err error) {
	opened.inspection, err = manager.Inspect(ctx, s.Build, s.Providers, process.Args, process.Environment, a == reading)
	if err != nil {
		return fmt.Errorf("using the configuration of the cloud controller manager: %w", err)
	}
	if err := opened.followKubeconfig(s.clients); err != nil {
		return err
	}
	return opened.identify(ctx)
}

// identify passes the UID of the cluster to the cloud, if it needs it and the user may read it. Without it, orphans may
// belong to another cluster.
func (s *session) identify(ctx context.Context) error {
	identity := s.inspection.Cloud.ClusterIdentity
	if identity == nil {
		return nil
	}
	uid, err := cloud.ReadClusterUID(ctx, s.client)
	switch {
	case err == nil:
		s.uid = uid
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

// refresh reads what all Services share once, so that a cloud that does not answer is one error, and not one for each
// Service.
func (s *settings) refresh(ctx context.Context, from *session) error {
	balancers := from.inspection.Cloud.LoadBalancers
	if balancers == nil {
		return nil // the command reports it
	}
	show, done := s.Terminal.Progress()
	defer done()
	show(readingCloud)
	if err := balancers.Refresh(ctx); err != nil {
		return fmt.Errorf("reading the cloud: %w", err)
	}
	return nil
}

// findWorkload returns the workload whose flags, configuration and credentials are used. Nothing that it refers to was
// read yet. Who is at a terminal is asked about one that somebody else than an administrator may have made: its
// configuration chooses where this computer sends requests to.
func (s *settings) findWorkload(ctx context.Context, host kubernetes.Interface, a access) (*workload.Workload, error) {
	found, err := workload.Find(ctx, host, s.workload)
	if err != nil || s.workload != "" || found.Namespace == metav1.NamespaceSystem {
		return found, err
	}
	named := fmt.Sprintf("pass --ccm=%s/%s", found.Namespace, found.Name)
	switch {
	case a == writing && (found.Proven || s.cloudConfig == ""):
		return nil, fmt.Errorf("nothing is written to the cloud with the configuration of %s, which is not in the "+
			"namespace %s: if it is the cloud controller manager of this cluster, %s", found, metav1.NamespaceSystem,
			named)
	case found.Proven:
		s.Terminal.Hint(fmt.Sprintf("Using %s.", found))
		return found, nil
	case s.cloudConfig != "" || !s.Terminal.Interactive:
		return nil, fmt.Errorf("%s is not used, because %w: it is not in the namespace %s, and its account may not "+
			"write the status of Services. If it is the cloud controller manager of this cluster, %s", found,
			workload.ErrUnproven, metav1.NamespaceSystem, named)
	}
	if err := s.ask(ctx, found); err != nil {
		return nil, fmt.Errorf("%s is not used, because %w: %w; if it is the cloud controller manager of this "+
			"cluster, %s", found, workload.ErrUnproven, err, named)
	}
	return found, nil
}

// ask asks the person at the terminal whether a workload is to be used that somebody else may have made.
func (s *settings) ask(ctx context.Context, about *workload.Workload) error {
	_, done := s.Terminal.Progress()
	done()
	return s.Terminal.Confirm(ctx, fmt.Sprintf("The only cloud controller manager that was found is %s. It is not in "+
		"the namespace %s, and its account may not write the status of Services: everybody who may create a workload "+
		"in the namespace %s can have made it. With its configuration, this computer sends requests to addresses that "+
		"they choose. Use it?", about, metav1.NamespaceSystem, about.Namespace), "yes")
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

// errNoWorkload explains what a user can do who has neither the workload nor a file.
const errNoWorkload = "%w. If your provider runs it outside the cluster (profile managed), its configuration and its " +
	"credentials are not in the cluster: ask your provider for the result of this command. With credentials of your " +
	"own for the cloud, pass --cloud-config=FILE"

// findProcess returns the flags and the environment of the cloud controller manager. With --cloud-config they are those
// of the workload, if there is one, except for the configuration and what it refers to, which are on this computer.
func (s *settings) findProcess(ctx context.Context, into *session, a access) (workload.Process, error) {
	found, err := s.findWorkload(ctx, into.host, a)
	local := s.cloudConfig != ""
	switch {
	case errors.Is(err, workload.ErrNotFound) && !local:
		return workload.Process{}, fmt.Errorf(errNoWorkload, err)
	case local && s.workload == "" && (apierrors.IsForbidden(err) || errors.Is(err, workload.ErrUnproven)):
		s.Terminal.Hint(fmt.Sprintf("The flags of the cloud controller manager are not known, and have their "+
			"defaults: %v", err))
	case err != nil && !errors.Is(err, workload.ErrNotFound), err != nil && s.workload != "":
		return workload.Process{}, err
	}
	// Flags that are not known cannot contradict each other. With the default of this one, a cloud with routes needs
	// another flag.
	process := workload.Process{Args: []string{"--configure-cloud-routes=false"}}
	if err == nil {
		into.workload = found
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
