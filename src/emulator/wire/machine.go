package wire

import "time"

// MachineType is a size of machine.
type MachineType struct {
	Identity    string `json:"identity"`
	Name        string `json:"name"`
	Slug        string `json:"slug"`
	Description string `json:"description"`
	VCPUs       int    `json:"vcpus"`
	RAMMb       int    `json:"ramMb"`
	DiskGb      int    `json:"diskGb"`
	SwapMb      int    `json:"swapMb"`
}

// MachineTypeCategory groups machine types for display.
type MachineTypeCategory struct {
	Name         string        `json:"name"`
	Description  string        `json:"description"`
	MachineTypes []MachineType `json:"machineTypes"`
}

// MachineImage names what a machine was installed from.
type MachineImage struct {
	Identity     string            `json:"identity"`
	Name         string            `json:"name"`
	Slug         string            `json:"slug"`
	Labels       map[string]string `json:"labels"`
	Description  string            `json:"description"`
	Architecture string            `json:"architecture"`
}

// Machine is a virtual machine.
type Machine struct {
	Identity    string            `json:"identity"`
	Name        string            `json:"name"`
	Slug        string            `json:"slug"`
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   *time.Time        `json:"updatedAt,omitempty"`
	Description string            `json:"description,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// State is the power state: running, stopped, deleting or deleted.
	State                    string             `json:"state"`
	CloudInit                *string            `json:"cloudInit"`
	DeleteProtection         bool               `json:"deleteProtection"`
	Organisation             *Organisation      `json:"organisation,omitempty"`
	MachineType              *MachineType       `json:"machineType,omitempty"`
	MachineImage             *MachineImage      `json:"machineImage,omitempty"`
	PersistentVolume         *Volume            `json:"persistentVolume,omitempty"`
	VPC                      *VPC               `json:"vpc,omitempty"`
	Subnet                   *Subnet            `json:"subnet,omitempty"`
	Interfaces               []Interface        `json:"interfaces,omitempty"`
	VolumeAttachments        []VolumeAttachment `json:"volumeAttachments,omitempty"`
	Status                   ResourceStatus     `json:"status"`
	Region                   string             `json:"region,omitempty"`
	AvailabilityZone         string             `json:"availabilityZone,omitempty"`
	SecurityGroupAttachments []string           `json:"securityGroupAttachments,omitempty"`

	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
}

// Interface is a network interface of a machine. The one that carries the
// machine's addresses in its subnet is named "default".
type Interface struct {
	Name        string   `json:"name"`
	MACAddress  string   `json:"macAddress"`
	IPAddresses []string `json:"ipAddresses"`
}

// ResourceStatus is the provisioning status of a machine.
type ResourceStatus struct {
	Status             string    `json:"status"`
	StatusMessage      string    `json:"statusMessage"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// RootVolumeInput describes the disk of a new machine, or names a volume.
type RootVolumeInput struct {
	ExistingVolumeRef  string            `json:"existingVolumeRef"`
	VolumeTypeIdentity string            `json:"volumeTypeIdentity"`
	Size               int               `json:"size"`
	Name               string            `json:"name"`
	Description        string            `json:"description"`
	Labels             map[string]string `json:"labels"`
	Annotations        map[string]string `json:"annotations"`
}

// CreateMachine is the body of POST /v1/machines.
type CreateMachine struct {
	Name                     string            `json:"name"`
	Description              string            `json:"description"`
	Labels                   map[string]string `json:"labels"`
	Annotations              map[string]string `json:"annotations"`
	Subnet                   string            `json:"subnet"`
	CloudInit                string            `json:"cloudInit"`
	CloudInitRef             string            `json:"cloudInitRef"`
	RootVolume               *RootVolumeInput  `json:"rootVolume"`
	DeleteProtection         bool              `json:"deleteProtection"`
	State                    *string           `json:"state"`
	MachineImage             string            `json:"machineImage"`
	MachineType              string            `json:"machineType"`
	AvailabilityZone         *string           `json:"availabilityZone"`
	SecurityGroupAttachments []string          `json:"securityGroupAttachments"`
}

// UpdateMachine is the body of PUT /v1/machines/{id}.
type UpdateMachine struct {
	Name                     *string           `json:"name"`
	Description              *string           `json:"description"`
	Labels                   map[string]string `json:"labels"`
	Annotations              map[string]string `json:"annotations"`
	Subnet                   *string           `json:"subnet"`
	State                    *string           `json:"state"`
	AvailabilityZone         *string           `json:"availabilityZone"`
	MachineType              *string           `json:"machineType"`
	DeleteProtection         *bool             `json:"deleteProtection"`
	SecurityGroupAttachments []string          `json:"securityGroupAttachments"`
}
