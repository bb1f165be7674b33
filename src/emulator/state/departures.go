package state

// The departures of objects: what happens when the deletion that Life.Remove began ends, and when they are no longer
// listed.

// Depart ends what the VPC is part of.
func (v *VPC) Depart() {
	v.Org.RemoveRouteTable(v.Table)
	v.Org.Leave(&v.Life, nil, func() { v.Org.VPCs.Remove(v) })
}

// Depart ends what the subnet is part of.
func (s *Subnet) Depart() {
	org := s.VPC.Org
	org.Leave(&s.Life, s.Quit, func() { org.Subnets.Remove(s) })
}

// Depart ends what the security group is part of.
func (g *SecurityGroup) Depart() {
	org := g.VPC.Org
	org.Leave(&g.Life, func() { g.VPC.Users.Remove("security group", g.Identity) },
		func() { org.SecurityGroups.Remove(g) })
}

// DepartReservedIP ends what a reserved IP is part of.
func (o *Organisation) DepartReservedIP(ip *ReservedIP) {
	o.Leave(&ip.Life, nil, func() {
		ReleaseAddresses(ip.Region.Public, ip.Addresses)
		o.ReservedIPs.Remove(ip)
	})
}

// Depart ends what the NAT gateway is part of.
func (n *NATGateway) Depart() {
	org := n.Subnet.VPC.Org
	org.Leave(&n.Life, func() {
		n.Release(n.DeletedAt())
		n.Leave()
		n.Subnet.Users.Remove("NAT gateway", n.Identity)
	}, func() { org.NATGateways.Remove(n) })
}

// Depart ends what the load balancer is part of.
func (lb *Loadbalancer) Depart() {
	org := lb.Subnet.VPC.Org
	org.Leave(&lb.Life, func() {
		org.Release(lb, lb.DeletedAt())
		lb.Leave()
		lb.Subnet.Users.Remove("load balancer", lb.Identity)
	}, func() { org.Loadbalancers.Remove(lb) })
}

// Depart ends what the machine is part of.
func (m *Machine) Depart() {
	org := m.Subnet.VPC.Org
	org.Leave(&m.Life, func() {
		m.SecurityGroups = Reattach("machine", m.Identity, m.SecurityGroups, nil)
		m.Subnet.Users.Remove("machine", m.Identity)
	}, func() {
		if !org.Store.Switches.KeepAttachedVolumes {
			m.ForgetVolumes()
		}
		ReleaseAddresses(m.Subnet.Pools, m.Addresses)
		org.Machines.Remove(m)
	})
}

// Depart ends what the volume is part of.
func (v *Volume) Depart() { v.Org.Leave(&v.Life, nil, v.Leave) }

// DepartSnapshot ends what a snapshot is part of.
func (o *Organisation) DepartSnapshot(s *VolumeSnapshot) {
	o.Leave(&s.Life, nil, func() { o.RemoveSnapshot(s) })
}
