package volume

import (
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
func ParameterNames() []string { return []string{ParameterType, ParameterVolume, ParameterFilesystem} }

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
	parsed := Parameters{Type: DefaultType}
	var unknown []string
	for key, value := range given {
		switch {
		case key == ParameterType && value != "":
			parsed.Type = value
		case key == ParameterType:
		case key == ParameterVolume:
			parsed.Volume = value
		case key == ParameterFilesystem:
			parsed.Filesystem = value
		case !strings.HasPrefix(key, ReservedPrefix):
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return Parameters{}, status.Errorf(codes.InvalidArgument, "parameter %q of the StorageClass is not known; the "+
			"parameters are %s", unknown[0], strings.Join(ParameterNames(), ", "))
	}
	return parsed, CheckFilesystem(parsed.Filesystem)
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
