package inventory

import (
	"encoding/json"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client/jsonstream"
)

// groupReader reads the items of a list of target groups. The API shows every attached machine in every group, which
// makes a list of a thousand groups with a thousand machines half a gigabyte; what is kept of that is one text for each
// machine and, where groups have the same machines, one set of them.
type groupReader struct {
	ours  func(groupItem) (TargetGroup, bool)
	names map[string]string // of machines: each once
	sets  machineSets
	rest  []byte // of the item, without its attachments
}

// attachmentsField is where a target group's machines are.
const attachmentsField = "loadbalancerTargetGroupAttachments"

// read reads one item.
func (g *groupReader) read(r *jsonstream.Reader) (TargetGroup, bool, error) {
	var machines []string
	g.rest = append(g.rest[:0], '{')
	err := r.Fields(func(name []byte) (err error) {
		if string(name) == attachmentsField {
			machines, err = g.machines(r)
			return err
		}
		return g.keep(name, r)
	})
	if err != nil {
		return TargetGroup{}, false, err
	}
	var item groupItem
	if err := json.Unmarshal(append(g.rest, '}'), &item); err != nil {
		return TargetGroup{}, false, err
	}
	group, ours := g.ours(item)
	if ours && len(machines) > 0 {
		group.Machines = g.sets.share(machines)
	}
	return group, ours, nil
}

// keep copies a field for encoding/json.
func (g *groupReader) keep(name []byte, r *jsonstream.Reader) error {
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

// name is the text of an identity, the same one each time.
func (g *groupReader) name(id []byte) string {
	name, known := g.names[string(id)]
	if !known {
		name = string(id)
		g.names[name] = name
	}
	return name
}

// machineSets keeps sets of machines that are the same once. The zero value is ready to use.
type machineSets struct{ latest []string }

// share returns a set that holds the same as this one, which is sorted. Nobody may change either.
func (s *machineSets) share(machines []string) []string {
	if !slices.Equal(s.latest, machines) {
		s.latest = slices.Clip(machines)
	}
	return s.latest
}
