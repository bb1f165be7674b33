//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/client-go/iaas"
	"github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/realnode"
)

// Remote is a cluster that another process runs.
type Remote struct {
	// CloudURL is where the API of Thalassa Cloud is, empty for a cluster in IronCore. Folder is the cluster's.
	CloudURL, Folder string
	// Kubeconfig is the path of one for the cluster's owner.
	Kubeconfig string
	// Namespace is the file of the network namespace from which load balancers are reached.
	Namespace string
	// Bare and Networks are those of the cluster's Options.
	Bare     bool
	Networks Networks
}

// errInIronCore is the error of changing the machines of another cloud.
var errInIronCore = errors.New("the cluster is in IronCore: create or delete the Machine there, with kubectl as " +
	"make cluster has printed it")

// customer is a client of Thalassa Cloud, as its customer.
func customer(url string) (*iaas.Client, error) {
	if url == "" {
		return nil, errInIronCore
	}
	raw, err := client.NewClient(client.WithBaseURL(url), client.WithOrganisation(emulator.DefaultOrganisation),
		client.WithAuthPersonalToken(emulator.DefaultToken), client.WithTimeout(waitTimeout))
	if err != nil {
		return nil, fmt.Errorf("preparing a client of the cloud: %w", err)
	}
	return iaas.New(raw)
}

// AddNode makes a machine in the cloud, and waits until its node has joined the cluster, and is initialised and ready
// if anybody sees to that.
func (r Remote) AddNode(ctx context.Context, name string) error {
	if err := r.addMachine(ctx, name); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the cluster: %w", err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("preparing a client of the cluster: %w", err)
	}
	return r.awaitNode(ctx, api, name)
}

// awaitNode waits for a node. Why it does not come is printed where the cluster runs.
func (r Remote) awaitNode(ctx context.Context, api kubernetes.Interface, name string) error {
	wanted := usableWith(r.Bare, r.Networks)
	err := limits().Until(ctx, fmt.Sprintf("node %s is usable", name), func(ctx context.Context) error {
		node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return wanted.lacking(node)
	})
	if err != nil {
		return fmt.Errorf("%w; the machine is there, and the program that runs the cluster says why its node is not",
			err)
	}
	return nil
}

// addMachine makes a machine in the cloud.
func (r Remote) addMachine(ctx context.Context, name string) error {
	cloud, err := customer(r.CloudURL)
	if err != nil {
		return err
	}
	types, err := cloud.ListMachineTypes(ctx, nil)
	if err != nil || len(types) == 0 {
		return fmt.Errorf("making machine %s: the cloud has no machine types (%w)", name, err)
	}
	zone := emulator.DefaultRegion + "a"
	_, err = cloud.CreateMachine(ctx, iaas.CreateMachine{Name: name, Subnet: emulator.DefaultSubnet,
		MachineType: types[0].Slug, AvailabilityZone: &zone})
	if err != nil {
		return fmt.Errorf("making machine %s: %w", name, err)
	}
	return nil
}

// RemoveNode deletes a machine in the cloud, and its node is gone at once: drain it before if that is needed.
// The machine with the control plane stays: without it there is no cluster.
func (r Remote) RemoveNode(ctx context.Context, name string) error {
	if name == ControlPlane {
		return fmt.Errorf(
			"deleting machine %s: the cluster does not survive that; end make cluster with Ctrl-C instead", name)
	}
	cloud, err := customer(r.CloudURL)
	if err != nil {
		return err
	}
	machines, err := cloud.ListMachines(ctx, nil)
	if err != nil {
		return fmt.Errorf("deleting machine %s: %w", name, err)
	}
	for _, one := range machines {
		if one.Slug != name {
			continue
		}
		if err := cloud.DeleteMachine(ctx, one.Identity); err != nil {
			return fmt.Errorf("deleting machine %s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("deleting machine %s: the cloud has none of that name", name)
}

// LoadImage makes the images of an archive known to all nodes, and to those that will be added. It returns the names of
// the machines whose nodes have them.
func (r Remote) LoadImage(ctx context.Context, archive string) (machines []string, err error) {
	machines, err = r.load(ctx, archive, realnode.Import)
	if err != nil {
		return machines, fmt.Errorf("loading %s: %w", archive, err)
	}
	return machines, nil
}

// load keeps the archive for nodes to come only when a node has taken it: it would let each of them fail otherwise.
func (r Remote) load(ctx context.Context, archive string, importInto func(ctx context.Context, node,
	archive string) error) (taken []string, err error) {
	if _, err := os.Stat(archive); err != nil {
		return nil, err
	}
	nodes, err := os.ReadDir(filepath.Join(r.Folder, "machines"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing nodes, which are root's: %w", err)
	}
	var failed []error
	for _, node := range nodes {
		if err := importInto(ctx, filepath.Join(r.Folder, "machines", node.Name()), archive); err != nil {
			failed = append(failed, err)
			continue
		}
		taken = append(taken, node.Name())
	}
	if len(nodes) == 0 {
		failed = append(failed, errors.New("the cluster has none"))
	}
	if len(taken) == 0 {
		return nil, fmt.Errorf("no node has taken it, and none will get it: %w", errors.Join(failed...))
	}
	return taken, errors.Join(append(failed, r.keep(archive))...)
}

// keep keeps an archive for nodes to come.
func (r Remote) keep(archive string) error {
	kept := filepath.Join(r.Folder, "images", filepath.Base(archive))
	if filepath.Ext(kept) != ".tar" {
		kept += ".tar"
	}
	return copyFile(kept, archive)
}

// copyFile makes a copy that is complete, or is not there.
func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.CreateTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err == nil {
		err = os.Rename(target.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(target.Name()))
	}
	return nil
}
