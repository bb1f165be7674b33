package charttest

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SnapshotClass has the fields of a VolumeSnapshotClass. The module with its Go type is not one of this module's; the
// API server of the tests has its definition.
type SnapshotClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	// Driver is the name of the CSI driver.
	Driver string `json:"driver"`
	// Parameters are those of the driver.
	Parameters map[string]string `json:"parameters,omitempty"`
	// DeletionPolicy is Delete or Retain.
	DeletionPolicy string `json:"deletionPolicy"`
}

// DeepCopyObject implements runtime.Object.
func (c *SnapshotClass) DeepCopyObject() runtime.Object {
	copied := *c
	copied.ObjectMeta = *c.ObjectMeta.DeepCopy()
	copied.Parameters = maps.Clone(c.Parameters)
	return &copied
}
