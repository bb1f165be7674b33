package state

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// seedPeerings adds the peering connections of an organisation and its projects.
func (o *Organisation) seedPeerings(in seed.Organisation, now time.Time) error {
	described := func(p *seed.Peering) *seed.Object { return &p.Object }
	err := each("peering connection", in.Peerings, described,
		func(p *seed.Peering) error { return o.seedPeering(p, now) })
	for i, project := range in.Projects {
		space := o.Projects.Order[i].Space
		err = errors.Join(err, each("peering connection", project.Peerings, described,
			func(p *seed.Peering) error { return space.seedPeering(p, now) }))
	}
	return err
}

// seedRoutes adds routes, after all that they lead to.
func (o *Organisation) seedRoutes(in seed.Organisation, _ time.Time) error {
	err := o.routesOf(in.VPCs)
	for i, project := range in.Projects {
		err = errors.Join(err, o.Projects.Order[i].Space.routesOf(project.VPCs))
	}
	return err
}

// routesOf adds the routes of VPCs.
func (o *Organisation) routesOf(vpcs []seed.VPC) error {
	for i, v := range vpcs {
		if v.Removed() {
			continue
		}
		home := o.VPCs.Order[i]
		tables := slices.DeleteFunc(slices.Collect(o.RouteTables.All()),
			func(t *RouteTable) bool { return t.VPC != home })
		for j, table := range v.RouteTables {
			for _, route := range table.Routes {
				if err := tables[j].seedRoute(route); err != nil {
					return fmt.Errorf("VPC %q: route table %q: %w", v.Name, table.Name, err)
				}
			}
		}
	}
	return nil
}

// seedProjects adds projects, and then the projects above them.
func (o *Organisation) seedProjects(projects []seed.Project, now time.Time) error {
	for _, p := range projects {
		if err := o.seedProject(p, now); err != nil {
			return fmt.Errorf("project %q: %w", p.Name, err)
		}
	}
	for i, p := range projects {
		if p.Parent == "" {
			continue
		}
		parent, err := required(&o.Projects, "parent", "project", p.Parent)
		if err != nil {
			return fmt.Errorf("project %q: %w", p.Name, err)
		}
		o.Projects.Order[i].Parent = parent
	}
	return nil
}
