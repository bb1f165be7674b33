// Package volume gives containers that run without a mount namespace their volumes: private
// directories with the content that kubelet would mount, kept up to date the way kubelet does.
package volume

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/paths"
)

const (
	// resync is how often volumes are compared with their sources without being told: kubelet's
	// period.
	resync = time.Minute

	// retry is the pause after a failed update.
	retry = 5 * time.Second
)

// Options says whose volumes to prepare, and where.
type Options struct {
	Client kubernetes.Interface
	// Pod returns the pod as it is now, with its addresses in its status.
	Pod func() *corev1.Pod
	// Container is the container whose mounts are prepared.
	Container *corev1.Container
	// Node is what the node offers, for resource fields.
	Node corev1.ResourceList
	// Dir is a directory for what only this container mounts.
	Dir string
	// Shared is a directory for what the containers of the pod share (emptyDir).
	Shared string
}

// Set is the volumes that one container mounts.
type Set struct {
	options Options
	table   paths.Table
	volumes []*corev1.Volume
	tokens  map[tokenKey]token
}

// Prepare writes all volumes of a container. A missing ConfigMap or Secret is an error; trying
// again later is up to the caller.
func Prepare(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o, table: paths.Table{}, tokens: map[tokenKey]token{}}
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
// Failed updates leave the volumes as they are, are told to failed and tried again.
func (s *Set) Keep(ctx context.Context, failed func(error)) {
	changed, stop := s.watch(ctx)
	defer stop()
	for {
		timer := time.NewTimer(time.Until(s.due(time.Now())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		for err := s.sync(ctx); err != nil && ctx.Err() == nil; err = s.sync(ctx) {
			failed(err)
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
	}
}

// due is when the volumes have to be looked at again.
func (s *Set) due(now time.Time) time.Time {
	at := now.Add(resync)
	for _, t := range s.tokens {
		if t.refresh.Before(at) {
			at = t.refresh
		}
	}
	return at
}

// plan finds out what is mounted and where it will lie, which the content of ConfigMaps needs.
func (s *Set) plan() error {
	pod := s.options.Pod()
	byName := map[string]*corev1.Volume{}
	for i := range pod.Spec.Volumes {
		byName[pod.Spec.Volumes[i].Name] = &pod.Spec.Volumes[i]
	}
	planned := map[string]bool{}
	for _, mount := range s.options.Container.VolumeMounts {
		v := byName[mount.Name]
		if v == nil {
			return fmt.Errorf("mounting at %s: the pod has no volume %q", mount.MountPath, mount.Name)
		}
		if mount.SubPathExpr != "" {
			return fmt.Errorf("mounting volume %q: virtual nodes do not support subPathExpr", mount.Name)
		}
		if !filepath.IsLocal(mount.SubPath) && mount.SubPath != "" {
			return fmt.Errorf("mounting volume %q: the subPath %q leads out of it", mount.Name, mount.SubPath)
		}
		s.table[path.Clean(mount.MountPath)] = filepath.Join(s.place(v), mount.SubPath)
		if !planned[v.Name] {
			planned[v.Name] = true
			s.volumes = append(s.volumes, v)
		}
	}
	return nil
}

// place is the directory of a volume. Only emptyDirs are shared: the text in the others mentions
// paths, which differ between containers.
func (s *Set) place(v *corev1.Volume) string {
	if v.EmptyDir != nil {
		return filepath.Join(s.options.Shared, v.Name)
	}
	return filepath.Join(s.options.Dir, v.Name)
}

func (s *Set) sync(ctx context.Context) error {
	for _, v := range s.volumes {
		if err := s.syncVolume(ctx, v); err != nil {
			return fmt.Errorf("preparing volume %q: %w", v.Name, err)
		}
	}
	return nil
}

func (s *Set) syncVolume(ctx context.Context, v *corev1.Volume) error {
	if v.EmptyDir != nil {
		return s.makeEmpty(v)
	}
	content, err := s.render(ctx, v)
	if err != nil {
		return err
	}
	return write(s.place(v), content)
}

// makeEmpty also makes the directories that are mounted by subPath, as kubelet does.
func (s *Set) makeEmpty(v *corev1.Volume) error {
	for _, mount := range s.options.Container.VolumeMounts {
		if mount.Name != v.Name {
			continue
		}
		if err := os.MkdirAll(filepath.Join(s.place(v), mount.SubPath), 0o777); err != nil {
			return fmt.Errorf("making an empty directory: %w", err)
		}
	}
	return nil
}

func (s *Set) namespace() string { return s.options.Pod().Namespace }
