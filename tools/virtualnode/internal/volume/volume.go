// Package volume gives containers that run without a mount namespace their volumes: private
// directories with the content that kubelet would mount, kept up to date the way kubelet does.
package volume

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/paths"
)

// resync is how often volumes are compared with their sources. Kubelet takes a minute, and somebody
// who changes a Secret in a test or a demo should not wait so long.
const resync = 5 * time.Second

// Options says whose volumes to prepare, and where.
type Options struct {
	Client kubernetes.Interface
	// Pod returns the pod as it is now, with its addresses in its status.
	Pod func() *corev1.Pod
	// Container is the container whose mounts are prepared.
	Container *corev1.Container
	// Dir is a directory for what the container mounts.
	Dir string
}

// Set is the volumes that one container mounts.
type Set struct {
	options Options
	table   paths.Table
	volumes map[string]*volume
	tokens  map[*corev1.ServiceAccountTokenProjection]token
}

// volume is one volume as it was written last.
type volume struct {
	source  *corev1.Volume
	written payload
}

// Prepare writes all volumes of a container. A missing ConfigMap or Secret is an error; trying
// again later is up to the caller.
func Prepare(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o, table: paths.Table{}, volumes: map[string]*volume{},
		tokens: map[*corev1.ServiceAccountTokenProjection]token{}}
	if err := s.plan(); err != nil {
		return nil, err
	}
	if err := s.sync(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Table says where what is mounted really lies.
func (s *Set) Table() paths.Table { return s.table }

// Keep follows changes of ConfigMaps and Secrets and replaces tokens in time, until ctx ends.
// Failed updates leave the volumes as they are, are reported to failed and tried again.
func (s *Set) Keep(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(resync)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.sync(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// plan finds out what is mounted and where it will lie, which the content of ConfigMaps needs.
func (s *Set) plan() error {
	sources := map[string]*corev1.Volume{}
	for _, v := range s.options.Pod().Spec.Volumes {
		sources[v.Name] = &v
	}
	for _, mount := range s.options.Container.VolumeMounts {
		if sources[mount.Name] == nil {
			return fmt.Errorf("mounting at %s: the pod has no volume %q", mount.MountPath, mount.Name)
		}
		if mount.SubPath != "" || mount.SubPathExpr != "" {
			return fmt.Errorf("mounting volume %q: virtual nodes do not support subPath and subPathExpr", mount.Name)
		}
		s.table[path.Clean(mount.MountPath)] = filepath.Join(s.options.Dir, mount.Name)
		s.volumes[mount.Name] = &volume{source: sources[mount.Name]}
	}
	return nil
}

func (s *Set) sync(ctx context.Context) error {
	for name, v := range s.volumes {
		if err := s.syncVolume(ctx, v); err != nil {
			return fmt.Errorf("preparing volume %q: %w", name, err)
		}
	}
	return nil
}

func (s *Set) syncVolume(ctx context.Context, v *volume) error {
	content, err := s.render(ctx, v.source)
	if err != nil || v.written != nil && reflect.DeepEqual(content, v.written) {
		return err
	}
	if err := write(filepath.Join(s.options.Dir, v.source.Name), content); err != nil {
		return err
	}
	v.written = content
	return nil
}
