package volume

import (
	"maps"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestParseParameters(t *testing.T) {
	for name, test := range map[string]struct {
		given map[string]string
		want  Parameters
	}{
		"none": {nil, Parameters{Type: "block"}},
		"all": {
			map[string]string{"volume-type": "Premium Block", "volume-identity": "v-1", "fstype": "xfs"},
			Parameters{"Premium Block", "v-1", "xfs"},
		},
		"empty":       {map[string]string{"volume-type": "", "fstype": ""}, Parameters{Type: "block"}},
		"provisioner": {map[string]string{"csi.storage.k8s.io/pvc/name": "data"}, Parameters{Type: "block"}},
	} {
		if got, err := ParseParameters(test.given); got != test.want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, test.want)
		}
	}
}

func TestParseParametersRefuses(t *testing.T) {
	for text, given := range map[string]map[string]string{
		`parameter "size" of the StorageClass is not known; the parameters are volume-type, volume-identity, fstype, ` +
			`csi.storage.k8s.io/fstype`: {"size": "1", "type": "x"},
		`filesystem "btrfs" is not supported; use one of ext4, ext3, xfs`: {"fstype": "btrfs"},
		`parameter "Volume-Type"`: {"Volume-Type": "block"},
	} {
		_, err := ParseParameters(given)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want InvalidArgument with %q", given, err, text)
		}
	}
}

func TestCheckSnapshotParameters(t *testing.T) {
	for name, text := range map[string]string{
		"csi.storage.k8s.io/snapshotter-secret-name": "",
		"volume-type": `parameter "volume-type" of the VolumeSnapshotClass is not known; there are no parameters`,
	} {
		err := CheckSnapshotParameters(map[string]string{name: "a"})
		if text == "" && err != nil || text != "" && (status.Code(err) != codes.InvalidArgument ||
			!strings.Contains(err.Error(), text)) {
			t.Errorf("%s: %v, want InvalidArgument with %q, or nil", name, err, text)
		}
	}
	if err := CheckSnapshotParameters(nil); err != nil {
		t.Error(err)
	}
}

// TestParameterNames: the list and the names that are read are the same.
func TestParameterNames(t *testing.T) {
	for _, name := range ParameterNames() {
		if _, err := ParseParameters(map[string]string{name: "ext4"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a StorageClass says: the result is usable, or the error is InvalidArgument; and it is the same each time.
func FuzzParseParameters(f *testing.F) {
	f.Add("volume-type", "block", "fstype", "xfs")
	f.Add("volume-identity", "v-1", "csi.storage.k8s.io/fstype", "ext4")
	f.Add("fstype", "zfs", "unknown", "")
	f.Add("b", "", "a", "")
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 string) {
		given := map[string]string{key1: value1, key2: value2}
		got, err := ParseParameters(given)
		again, sameErr := ParseParameters(maps.Clone(given))
		if got != again || status.Convert(err).Message() != status.Convert(sameErr).Message() {
			t.Errorf("%v: %+v, %v, and then %+v, %v", given, got, err, again, sameErr)
		}
		if err != nil && status.Code(err) != codes.InvalidArgument || err == nil && got.Type == "" {
			t.Errorf("%v: %+v, %v", given, got, err)
		}
	})
}

// capability returns a capability with an access mode and the access type mount.
func capability(mode csi.VolumeCapability_AccessMode_Mode, filesystem string) *csi.VolumeCapability {
	return &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: filesystem}}}
}

func TestCheckCapabilities(t *testing.T) {
	const writer = csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	block := capability(writer, "")
	block.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	untyped, modeless := capability(writer, ""), capability(writer, "")
	untyped.AccessType, modeless.AccessMode = nil, nil
	for name, test := range map[string]struct {
		given []*csi.VolumeCapability
		text  string
	}{
		"mount":      {[]*csi.VolumeCapability{capability(writer, "")}, ""},
		"filesystem": {[]*csi.VolumeCapability{capability(writer, "xfs")}, ""},
		"block":      {[]*csi.VolumeCapability{block}, ""},
		"none":       {nil, "capabilities are missing"},
		"no mode":    {[]*csi.VolumeCapability{modeless}, "access mode of a volume capability is missing"},
		"no type":    {[]*csi.VolumeCapability{untyped}, "want mount or block"},
		"second":     {[]*csi.VolumeCapability{block, untyped}, "want mount or block"},
		"many": {
			[]*csi.VolumeCapability{capability(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, "")},
			"use the access mode ReadWriteOnce",
		},
		"many read": {
			[]*csi.VolumeCapability{capability(csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY, "")},
			"MULTI_NODE_READER_ONLY",
		},
		"unknown": {
			[]*csi.VolumeCapability{capability(csi.VolumeCapability_AccessMode_UNKNOWN, "")}, "not supported",
		},
		"former": {[]*csi.VolumeCapability{capability(writer, "ext2")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckCapabilities(test.given)
			if (err == nil) != (test.text == "") || err != nil && (status.Code(err) != codes.InvalidArgument ||
				!strings.Contains(err.Error(), test.text)) {
				t.Errorf("%v, want InvalidArgument with %q, or nil", err, test.text)
			}
		})
	}
	for _, mode := range AccessModes() {
		if err := CheckCapability(capability(mode, "ext4")); err != nil {
			t.Error(err)
		}
	}
}
