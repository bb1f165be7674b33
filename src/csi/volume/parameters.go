package volume

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Parameters of StorageClasses, as in the CSI driver that this one replaces.
const (
	// ParameterType is the identity or the name of a volume type.
	ParameterType = "volume-type"
	// ParameterVolume is the identity of an existing volume that is used instead of a new one.
	ParameterVolume = "volume-identity"
	// ParameterFilesystem is the former name of csi.storage.k8s.io/fstype.
	ParameterFilesystem = "fstype"
)

// DefaultType is the name of the volume type if a StorageClass has none.
const DefaultType = "block"

// ReservedPrefix begins the parameters that the external-provisioner adds and removes, as its documentation says.
const ReservedPrefix = "csi.storage.k8s.io/"

// ParameterNames are the names of the parameters of StorageClasses.
func ParameterNames() []string {
	return append([]string{ParameterType, ParameterVolume}, FilesystemNames()...)
}

// FilesystemNames are the names of the parameters with a filesystem, the former one first. csi-provisioner reads both,
// and refuses a StorageClass that has both.
func FilesystemNames() []string { return []string{ParameterFilesystem, ReservedPrefix + "fstype"} }

// Filesystems that volumes can be formatted with.
func Filesystems() []string { return []string{"ext4", "ext3", "xfs"} }

// Parameters are the parameters of a StorageClass.
type Parameters struct {
	Type       string // identity or name
	Volume     string // identity of an existing volume; may be empty
	Filesystem string // may be empty
}

// ParseParameters reads the parameters of a StorageClass. The error is InvalidArgument and names the parameter, its
// value and what is allowed.
func ParseParameters(given map[string]string) (Parameters, error) {
	if name, found := unknown(given, ParameterNames()); found {
		return Parameters{}, status.Errorf(codes.InvalidArgument, "parameter %q of the StorageClass is not known; the "+
			"parameters are %s", name, strings.Join(ParameterNames(), ", "))
	}
	parsed := Parameters{Type: cmp.Or(given[ParameterType], DefaultType), Volume: given[ParameterVolume],
		Filesystem: given[ParameterFilesystem]}
	return parsed, CheckFilesystem(parsed.Filesystem)
}

// CheckSnapshotParameters returns an InvalidArgument error that names a parameter of a VolumeSnapshotClass, if there is
// one: no parameter is known.
func CheckSnapshotParameters(given map[string]string) error {
	if name, found := unknown(given, nil); found {
		return status.Errorf(codes.InvalidArgument, "parameter %q of the VolumeSnapshotClass is not known; there are "+
			"no parameters", name)
	}
	return nil
}

// unknown returns the first name of a parameter that is not known and not reserved.
func unknown(given map[string]string, known []string) (name string, found bool) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, ReservedPrefix) {
			return name, true
		}
	}
	return "", false
}

// CheckFilesystem returns an InvalidArgument error for a filesystem that volumes cannot be formatted with; "" is the
// default.
func CheckFilesystem(name string) error {
	if name == "" || slices.Contains(Filesystems(), name) {
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "filesystem %q is not supported; use one of %s", name,
		strings.Join(Filesystems(), ", "))
}
