package ironcorelab

import (
	"context"
	"fmt"
	"path/filepath"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1alpha1 "github.com/ironcore-dev/ironcore/api/core/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	storagev1alpha1 "github.com/ironcore-dev/ironcore/api/storage/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// The programs of IronCore, by the names of their log files.
const (
	APIServer         = "ironcore-apiserver"
	ControllerManager = "ironcore-controller-manager"
)

// Serve starts the API server and the controller manager of IronCore as components of a control plane, which serves
// the API of IronCore from then on, unless they run. programs is the folder of the executables; if it is empty, they
// are built.
func Serve(ctx context.Context, plane *controlplane.ControlPlane, programs string) error {
	if plane.Runs(APIServer) {
		return nil
	}
	if programs == "" {
		root, err := repo.Root()
		if err != nil {
			return err
		}
		if programs, err = controlplane.BuildIronCore(ctx, root, nil); err != nil {
			return err
		}
	}
	err := plane.Extend(ctx, controlplane.Extension{Name: APIServer, Path: filepath.Join(programs, APIServer),
		Groups: []schema.GroupVersion{computev1alpha1.SchemeGroupVersion, corev1alpha1.SchemeGroupVersion,
			ipamv1alpha1.SchemeGroupVersion, networkingv1alpha1.SchemeGroupVersion,
			storagev1alpha1.SchemeGroupVersion}})
	if err == nil {
		err = plane.Manage(ctx, ControllerManager, filepath.Join(programs, ControllerManager),
			"--controllers=*", "--health-probe-bind-address=0")
	}
	if err != nil {
		return fmt.Errorf("starting IronCore: %w", err)
	}
	return nil
}
