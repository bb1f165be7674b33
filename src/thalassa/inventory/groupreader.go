package inventory

import (
	"encoding/json"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client/jsonstream"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// groupReader reads the items of a list of target groups. The API returns every attached machine in every group, so
// that a list of 1,000 groups with 1,000 machines has 500 MB. The reader keeps one string for each machine and, if
// groups have the same machines, one set of them.
type groupReader struct {
	ours  func(groupItem) (resource.TargetGroup, bool)
	names map[string]string // of machines: each once
	set   []string          // of the latest group
	rest  []byte            // of the item, without its attachments
}

// attachmentsField is the field with a target group's machines.
const attachmentsField = "loadbalancerTargetGroupAttachments"

// read reads one item.
func (g *groupReader) read(r *jsonstream.Reader) (resource.TargetGroup, bool, error) {
	var machines []string
	g.rest = append(g.rest[:0], '{')
	err := r.Fields(func(name []byte) (err error) {
		if string(name) == attachmentsField {
			machines, err = g.machines(r)
			return err
		}
		return g.copyField(name, r)
	})
	if err != nil {
		return resource.TargetGroup{}, false, err
	}
	var item groupItem
	if err := json.Unmarshal(append(g.rest, '}'), &item); err != nil {
		return resource.TargetGroup{}, false, err
	}
	group, ours := g.ours(item)
	if ours && len(machines) > 0 {
		group.Machines = g.share(machines)
	}
	return group, ours, nil
}

// copyField copies a field for encoding/json.
func (g *groupReader) copyField(name []byte, r *jsonstream.Reader) error {
	quoted, err := json.Marshal(string(name))
	if err != nil {
		return err
	}
	value, err := r.Raw()
	if len(g.rest) > 1 {
		g.rest = append(g.rest, ',')
	}
	g.rest = append(append(append(g.rest, quoted...), ':'), value...)
	return err
}

// machines reads the identities of the attached machines, and sorts them.
func (g *groupReader) machines(r *jsonstream.Reader) ([]string, error) {
	var machines []string
	err := r.Each(func() error {
		return r.Fields(func(name []byte) error {
			if string(name) != "virtualMachineInstance" {
				return r.Skip()
			}
			return r.Fields(func(name []byte) error {
				if string(name) != "identity" {
					return r.Skip()
				}
				id, err := r.Text()
				if len(id) > 0 {
					machines = append(machines, g.name(id))
				}
				return err
			})
		})
	})
	slices.Sort(machines)
	return machines, err
}

// name returns an identity as a string, the same string each time.
func (g *groupReader) name(id []byte) string {
	name, known := g.names[string(id)]
	if !known {
		name = string(id)
		g.names[name] = name
	}
	return name
}

// share returns a set that is equal to this one, which is sorted. Neither may be changed afterwards.
func (g *groupReader) share(machines []string) []string {
	if !slices.Equal(g.set, machines) {
		g.set = slices.Clip(machines)
	}
	return g.set
}
