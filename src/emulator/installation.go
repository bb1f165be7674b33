package emulator

import "github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"

// installation is what a new machine is made from.
type installation struct {
	image      *image
	cloudInit  *string
	rootVolume *wire.RootVolume
}

// read finds and checks what a request refers to.
func (p *installation) read(c *call, in wire.CreateMachine) error {
	var err error
	if p.image, err = c.org.store.imageFor(in.MachineImage); err != nil {
		return err
	}
	if err := p.readCloudInit(c, in); err != nil {
		return err
	}
	return p.readRootVolume(c, in)
}

// readCloudInit takes the text of the request, or a copy of a template's.
func (p *installation) readCloudInit(c *call, in wire.CreateMachine) error {
	switch {
	case in.CloudInit != "" && in.CloudInitRef != "":
		return invalid("fields \"cloudInit\" and \"cloudInitRef\" exclude each other")
	case in.CloudInit != "":
		p.cloudInit = &in.CloudInit
	case in.CloudInitRef != "":
		template, found := c.org.cloudInits.find(in.CloudInitRef)
		if !found {
			return invalid("field \"cloudInitRef\": cloud-init template %q not found", in.CloudInitRef)
		}
		p.cloudInit = &template.content
	}
	return nil
}

func (p *installation) readRootVolume(c *call, in wire.CreateMachine) error {
	// Older clients send an empty one when they do not care.
	root := in.RootVolume
	if root == nil || root.Size == 0 && root.ExistingVolumeRef == "" && root.VolumeTypeIdentity == "" {
		return nil
	}
	if root.ExistingVolumeRef != "" {
		return invalid("field \"rootVolume.existingVolumeRef\": volume %q not found", root.ExistingVolumeRef)
	}
	if root.Size < 1 {
		return invalid("field \"rootVolume.size\" must be at least 1 GB, not %d", root.Size)
	}
	described := spec{name: root.Name, description: root.Description, labels: root.Labels, annotations: root.Annotations}
	if described.name == "" {
		described.name = in.Name
	}
	if err := checkMeta(described); err != nil {
		return invalid("field \"rootVolume\": %v", err)
	}
	disk := newMeta("v", described, func(string) bool { return false }, c.now)
	p.rootVolume = &wire.RootVolume{Meta: disk.Meta, Status: "Attached", Size: root.Size}
	return nil
}
