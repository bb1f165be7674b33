package manager

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/cloud-provider/config"
	"k8s.io/cloud-provider/names"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Inspection is a cloud controller manager as its flags configure it, for programs that show what it does. Its cloud
// refuses all writes.
type Inspection struct {
	Cloud *cloud.Cloud
	// ConfigFile, ClusterName and Kubeconfig are the values of --cloud-config, --cluster-name and --kubeconfig.
	ConfigFile, ClusterName, Kubeconfig string
	// LeaseNamespace and LeaseName identify the lease of the leader; LeaderElection means that there is one.
	LeaseNamespace, LeaseName string
	LeaderElection            bool
	// OwnAccounts is --use-service-account-credentials: each controller has a service account in kube-system.
	OwnAccounts bool
	// Controllers are the reasons why controllers do not run, by their names; "" for those that run.
	Controllers map[string]string
}

// Runs reports whether a controller runs, by its name in --controllers.
func (i *Inspection) Runs(controller string) bool {
	reason, known := i.Controllers[controller]
	return known && reason == ""
}

// Inspect reads the flags of a process, and makes its cloud from the files in the environment. It opens no port and
// sends no request. With readOnly, the cloud refuses all writes. The error is a mistake in the flags or in the
// configuration, as the process itself reports it.
func Inspect(ctx context.Context, info build.Info, providers []Provider, args []string, from cloud.Environment,
	readOnly bool) (*Inspection, error) {
	s, err := newSettings(info, providers)
	if err != nil {
		return nil, err
	}
	cmd := newCommand(s)
	if err := cmd.ParseFlags(args); err != nil {
		return nil, fmt.Errorf("reading the flags: %w", err)
	}
	offered, err := s.cloud(ctx, cloud.Options{Environment: from, ReadOnly: readOnly})
	if err != nil {
		return nil, err
	}
	controllers, err := s.controllers(offered)
	if err != nil {
		return nil, err
	}
	shared, election := s.KubeCloudShared, s.Generic.LeaderElection
	return &Inspection{Cloud: offered, ConfigFile: shared.CloudProvider.CloudConfigFile,
		ClusterName: shared.ClusterName, Kubeconfig: s.Generic.ClientConnection.Kubeconfig,
		LeaseNamespace: election.ResourceNamespace, LeaseName: election.ResourceName,
		LeaderElection: election.LeaderElect, OwnAccounts: shared.UseServiceAccountCredentials,
		Controllers: controllers}, nil
}

// controllers returns the reasons why controllers do not run, by their names; "" for those that run.
func (s *settings) controllers(offered *cloud.Cloud) (map[string]string, error) {
	var applied config.CloudControllerManagerConfiguration
	if err := errors.Join(
		s.Generic.ApplyTo(&applied.Generic, controllerNames(), nil, names.CCMControllerAliases()),
		s.KubeCloudShared.ApplyTo(&applied.KubeCloudShared),
	); err != nil {
		return nil, fmt.Errorf("applying the flags: %w", err)
	}
	chosen, reasons, err := choose(table(), offered, configuration{&applied, s.masks})
	for name := range chosen {
		reasons[name] = ""
	}
	return reasons, err
}
