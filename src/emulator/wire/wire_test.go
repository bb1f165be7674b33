package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// metaKeys are the keys of Meta, which most objects share.
const metaKeys = "identity name slug description createdAt updatedAt objectVersion labels annotations "

// metaInputKeys are the keys of MetaInput.
const metaInputKeys = "name description labels annotations "

// keys are the top-level keys of an object on the wire, sorted.
func keys(t *testing.T, object any) []string {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The spelling of every key is the contract with clients.
func TestResponseKeys(t *testing.T) {
	now := time.Now()
	number, flag := uint32(1), true
	tests := map[string]answer{
		"error":       {Error{}, "message"},
		"token error": {TokenError{}, "error error_description"},
		"token":       {Token{}, "access_token token_type expires_in"},
		"limited token": {Token{Scope: "s", IssuedType: "t"},
			"access_token token_type expires_in scope issued_token_type"},
		"project":           {Project{}, metaKeys},
		"child project":     {Project{ParentProject: &ProjectReference{}}, metaKeys + "parentProject"},
		"project reference": {ProjectReference{}, "identity name slug"},
		"quota":             {Quota{}, "name description createdAt maxUsage currentUsage quotaType"},
		"full quota": {Quota{Service: "s", IncreaseRequests: []QuotaIncrease{{}}, Organisation: &Organisation{}},
			"name description service createdAt maxUsage currentUsage quotaType increaseRequests organisation"},
		"quota increase": {QuotaIncrease{DecisionReason: new(string)},
			"identity newMaxUsageRequested requestedReasonMessage createdAt updatedAt decision decisionReason"},
		"cloud-init": {CloudInit{}, "identity name slug labels annotations created_at content"},
		"firewall rule": {FirewallRule{Organisation: &Organisation{}, VPC: &VPC{}, Interface: &Subnet{},
			SourceSubnet: &Subnet{}, DestinationSubnet: &Subnet{}},
			"identity name organisation vpc createdAt protocols direction source destination sourcePorts " +
				"destinationPorts action priority state interface sourceSubnet destinationSubnet"},
		"firewall protocols": {FirewallProtocols{}, "tcp udp icmp any"},
		"peering": {Peering{RequesterVPC: &NamedReference{}, AccepterVPC: &NamedReference{},
			RequesterOrganisation: &NamedReference{}, AccepterOrganisation: &NamedReference{},
			StatusMessage: new(string), ExpiresAt: &now, Organisation: &Organisation{}},
			metaKeys + "requesterVpc accepterVpc requesterOrganisation accepterOrganisation status statusMessage " +
				"expiresAt organisation"},
		"file system": {Filesystem{Region: &Region{}, Organisation: &Organisation{}, VPC: &VPC{}, Subnet: &Subnet{},
			Endpoints: []Endpoint{{}}, SecurityGroups: []SecurityGroup{{}}, LastStatusChangedAt: &now},
			metaKeys + "region organisation vpc subnet endpoints securityGroups size deleteProtection status " +
				"lastStatusChangedAt"},
		"endpoint": {Endpoint{Labels: map[string]string{"a": "b"}, EndpointAddress: "a", EndpointAddressType: "t",
			EndpointType: "t"},
			"identity name labels createdAt endpointAddress endpointAddressType endpointType resourceType " +
				"resourceIdentity"},
		"organisation": {Organisation{}, metaKeys},
		"membership": {Membership{Organisation: &Organisation{}, User: &User{}},
			"identity createdAt organisation user role"},
		"user":   {User{}, "subject name email createdAt"},
		"region": {Region{}, metaKeys + "zones"},
		"zone":   {Zone{}, metaKeys + "cloudRegionIdentity CloudRegion"},
		"VPC":    {VPC{}, metaKeys + "status cidrs organisation cloudRegion subnets firewallRules"},
		"subnet": {Subnet{}, metaKeys +
			"type vpcIdentity vpc cidr status v4usingIPs v4availableIPs v6usingIPs v6availableIPs"},
		"machine type": {MachineType{}, "identity name slug description vcpus ramMb diskGb swapMb"},
		"category":     {MachineTypeCategory{}, "name description machineTypes"},
		"image":        {MachineImage{}, "identity name slug labels description architecture"},
		"bare machine": {Machine{}, "identity name slug createdAt state cloudInit deleteProtection status"},
		"full machine": {Machine{
			UpdatedAt: &now, Description: "d", Annotations: map[string]string{"a": "b"},
			Labels: map[string]string{"a": "b"}, Organisation: &Organisation{}, MachineType: &MachineType{},
			MachineImage: &MachineImage{}, VPC: &VPC{}, Subnet: &Subnet{}, Interfaces: []Interface{{}}, Region: "r",
			AvailabilityZone: "z",
		}, "identity name slug createdAt state cloudInit deleteProtection status updatedAt description annotations " +
			"labels organisation machineType machineImage vpc subnet interfaces region availabilityZone"},
		"interface": {Interface{}, "name macAddress ipAddresses"},
		"status":    {ResourceStatus{}, "status statusMessage lastTransitionTime"},
		"load balancer": {Loadbalancer{InstanceSize: "s"}, metaKeys +
			"status organisation vpcIdentity vpc subnetIdentity subnet " +
			"externalIpAddresses internalIpAddresses hostname loadbalancerListeners deleteProtection securityGroups " +
			"instanceSize"},
		"listener": {Listener{MaxConnections: &number, ConnectionIdleTimeout: &number},
			metaKeys + "port protocol targetGroup maxConnections connectionIdleTimeout allowedSources"},
		"bare listener": {Listener{}, metaKeys + "port protocol targetGroup allowedSources"},
		"target group": {TargetGroup{EnableProxyProtocol: &flag, LoadbalancingPolicy: "RANDOM",
			HealthCheck: &HealthCheck{}},
			metaKeys + "organisation vpc targetPort protocol targetSelector enableProxyProtocol loadbalancingPolicy " +
				"healthCheck loadbalancerListeners loadbalancerTargetGroupAttachments"},
		"health check": {HealthCheck{},
			"protocol port path periodSeconds timeoutSeconds unhealthyThreshold healthyThreshold"},
		"attachment": {Attachment{VirtualMachineInstance: &Machine{}},
			"identity createdAt loadbalancerTargetGroup virtualMachineInstance"},
	}
	checkKeys(t, tests)
}

// answer is an object and its keys on the wire.
type answer struct {
	object any
	want   string
}

func checkKeys(t *testing.T, tests map[string]answer) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := strings.Fields(test.want)
			slices.Sort(want)
			if got := keys(t, test.object); !slices.Equal(got, want) {
				t.Errorf("keys\n%v, want\n%v", got, want)
			}
		})
	}
}

func TestNetworkResponseKeys(t *testing.T) {
	now := time.Now()
	checkKeys(t, map[string]answer{
		"routed VPC": {VPC{RouteTable: &RouteTable{}}, metaKeys +
			"status cidrs organisation cloudRegion subnets firewallRules routeTable"},
		"routed subnet": {Subnet{RouteTable: &RouteTable{}}, metaKeys +
			"type vpcIdentity vpc cidr status routeTable v4usingIPs v4availableIPs v6usingIPs v6availableIPs"},
		"security group": {SecurityGroup{Organisation: &Organisation{}, VPC: &VPC{}, Status: "s"},
			metaKeys + "organisation vpc status allowSameGroupTraffic ingressRules egressRules"},
		"rule": {SecurityGroupRule{}, "name ipVersion protocol priority remoteType remoteAddress " +
			"remoteSecurityGroupIdentity portRangeMin portRangeMax policy"},
		"reserved IP": {ReservedIP{
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}, UpdatedAt: &now,
			Region: &Region{}, IPv4Address: "a",
			IPv6Address: "b", AttachedToResourceType: "c", AttachedToResourceIdentity: "d",
		}, "identity name slug description labels annotations createdAt updatedAt region status ipv4Address " +
			"ipv6Address attachedToResourceType attachedToResourceIdentity"},
		"bare reserved IP": {ReservedIP{}, "identity name slug description createdAt status"},
		"NAT gateway": {NATGateway{ReservedIPID: "i", ReservedIP: &ReservedIP{}, InstanceSize: "s"}, metaKeys +
			"status organisation vpcIdentity vpc subnetIdentity subnet endpointIP v4IP v6IP reservedIpId reservedIp " +
			"securityGroups instanceSize"},
		"route table": {RouteTable{Organisation: &Organisation{}, Routes: []RouteEntry{{}}}, metaKeys +
			"organisation vpc routes isDefault associatedSubnets"},
		"route": {RouteEntry{RouteTable: &RouteTable{}, TargetVPCPeeringConnectionID: "p",
			TargetNATGatewayIdentity: "n", TargetNATGateway: &NATGateway{}, GatewayAddress: "a"},
			"identity routeTable destinationCidrBlock targetNatGatewayIdentity targetNatGateway " +
				"targetVpcPeeringConnectionId gatewayAddress type"},
		"attached load balancer": {Loadbalancer{ReservedIPIdentity: "i", ReservedIP: &ReservedIP{}}, metaKeys +
			"status organisation vpcIdentity vpc subnetIdentity subnet " +
			"externalIpAddresses internalIpAddresses hostname loadbalancerListeners deleteProtection securityGroups " +
			"reservedIpIdentity reservedIp"},
		"guarded machine": {Machine{SecurityGroups: []SecurityGroup{{}}, SecurityGroupAttachments: []string{"a"}},
			"identity name slug createdAt state cloudInit deleteProtection status securityGroups " +
				"securityGroupAttachments"},
	})
}

func TestVolumeResponseKeys(t *testing.T) {
	now := time.Now()
	checkKeys(t, map[string]answer{
		"volume type": {VolumeType{}, "identity name description storageType allowResize"},
		"bare volume": {Volume{}, metaKeys + "status sourceMachineImage volumeType attachments organisation " +
			"cloudRegion size deleteProtection"},
		"snapshot": {Snapshot{Region: &Region{}, Organisation: &Organisation{}, SourceVolume: &Volume{},
			SizeGB: new(int)}, metaKeys + "region organisation status sourceVolumeId sourceVolume sizeGB " +
			"deleteProtection"},
		"snapshot policy": {SnapshotPolicy{Region: &Region{}, Organisation: &Organisation{},
			SnapshotPlan: SnapshotPlan{KeepCount: new(int)}}, metaKeys +
			"region organisation ttl keepCount enabled schedule timezone target"},
		"snapshot target": {SnapshotTarget{}, "type selector volumeIdentities"},
		"full volume": {Volume{AvailabilityZones: []Zone{{}}, RestoreFromSnapshot: &Snapshot{},
			Snapshots: []Snapshot{{}}}, metaKeys + "status sourceMachineImage volumeType attachments organisation " +
			"cloudRegion size deleteProtection availabilityZones restoreFromSnapshot snapshots"},
		"volume attachment": {VolumeAttachment{DetachmentRequestedAt: &now},
			"identity createdAt description serial attachedToIdentity attachedToResourceType " +
				"detachmentRequestedAt canDetach virtualMachine persistentVolume"},
	})
}

// Requests are read with the keys that the vendor's clients send.
func TestRequestKeys(t *testing.T) {
	tests := map[string]struct {
		into any
		want string
	}{
		"create machine": {CreateMachine{},
			"name description labels annotations subnet cloudInit cloudInitRef rootVolume deleteProtection state " +
				"machineImage machineType availabilityZone securityGroupAttachments"},
		"update machine": {UpdateMachine{},
			"name description labels annotations subnet state availabilityZone machineType " +
				"deleteProtection securityGroupAttachments"},
		"create load balancer": {CreateLoadbalancer{},
			"name description labels annotations subnet internalLoadbalancer deleteProtection " +
				"listeners securityGroupAttachments reservedIpId instanceSize"},
		"update load balancer": {UpdateLoadbalancer{}, "name description labels annotations deleteProtection subnet " +
			"securityGroupAttachments reservedIpId instanceSize"},
		"listener": {ListenerInput{},
			"name description labels annotations port protocol maxConnections connectionIdleTimeout " +
				"targetGroup allowedSources"},
		"target group": {TargetGroupInput{},
			"name description labels annotations vpc targetPort protocol targetSelector " +
				"enableProxyProtocol loadbalancingPolicy healthCheck"},
		"root volume": {RootVolumeInput{},
			"existingVolumeRef volumeTypeIdentity size name description labels annotations"},
		"project":        {ProjectInput{}, "name description labels annotations parentProjectIdentity"},
		"quota increase": {QuotaIncreaseInput{}, "name newMaxUsage reason"},
		"cloud-init":     {CloudInitInput{}, "name labels annotations content"},
		"firewall rule": {FirewallRuleInput{},
			"identity name protocols direction source destination sourcePorts destinationPorts action " +
				"priority state interfaceIdentity sourceSubnetIdentity destinationSubnetIdentity"},
		"firewall batch": {FirewallRuleBatch{}, "firewallRules"},
		"peering": {PeeringInput{}, "name description labels annotations requesterVpcIdentity accepterVpcIdentity " +
			"accepterOrganisationIdentity autoAccept"},
		"rejection": {PeeringRejection{}, "reason"},
		"snapshot":  {SnapshotInput{}, metaInputKeys + "volumeIdentity deleteProtection"},
		"snapshot policy": {SnapshotPolicyInput{}, metaInputKeys +
			"region ttl keepCount enabled schedule timezone target"},
		"volume": {VolumeInput{}, metaInputKeys +
			"type size cloudRegionIdentity volumeTypeIdentity deleteProtection restoreFromSnapshotId"},
		"volume attachment": {VolumeAttachmentInput{}, "description resourceType resourceIdentity"},
		"file system": {FilesystemInput{},
			"name description labels annotations cloudRegionIdentity vpcIdentity subnetIdentity size " +
				"securityGroupAttachments deleteProtection"},
		"attach": {AttachTarget{}, "serverIdentity endpointIdentity"},
		"batch":  {AttachmentBatch{}, "attachments"},
		"VPC":    {VPCInput{}, metaInputKeys + "cloudRegionIdentity vpcCidrs"},
		"subnet": {SubnetInput{}, metaInputKeys + "vpcIdentity cidr associatedRouteTableIdentity"},
		"security group": {SecurityGroupInput{}, metaInputKeys +
			"vpcIdentity objectVersion allowSameGroupTraffic ingressRules egressRules " +
			"skipRulesUpdate"},
		"rules":       {RuleBatch{}, "rules"},
		"reserved IP": {ReservedIPInput{}, metaInputKeys + "region"},
		"associate":   {AssociateReservedIP{}, "loadbalancerIdentity natGatewayIdentity"},
		"NAT gateway": {NATGatewayInput{}, metaInputKeys +
			"subnetIdentity configureDefaultRoute securityGroupAttachments reservedIpId instanceSize"},
		"route table": {RouteTableInput{}, metaInputKeys + "vpcIdentity"},
		"route": {RouteInput{}, "destinationCidrBlock targetGatewayIdentity targetNatGatewayIdentity " +
			"targetVpcPeeringConnectionId gatewayAddress"},
		"routes": {RouteBatch{}, "routes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := strings.Fields(test.want)
			slices.Sort(want)
			if got := keys(t, test.into); !slices.Equal(got, want) {
				t.Errorf("keys\n%v, want\n%v", got, want)
			}
		})
	}
}

func TestAbsentAndNullAreTheSame(t *testing.T) {
	for _, body := range []string{`{}`,
		`{"name":null,"labels":null,"port":null,"allowedSources":null,"maxConnections":null}`} {
		var in ListenerInput
		if err := json.Unmarshal([]byte(body), &in); err != nil {
			t.Fatal(err)
		}
		if in.Name != nil || in.Labels != nil || in.Port != nil || in.AllowedSources != nil ||
			in.MaxConnections != nil {
			t.Errorf("%s is read as %+v, want nothing set", body, in)
		}
	}
}

func TestTimestampsAreNeverEmpty(t *testing.T) {
	content, err := json.Marshal(Machine{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), `"createdAt":""`) || strings.Contains(string(content), "updatedAt") {
		t.Errorf("%s has an empty timestamp, which clients cannot read", content)
	}
}

// A health check differs from one that is null, and that from one left out.
func TestNullable(t *testing.T) {
	for body, want := range map[string]struct{ null, value bool }{
		`{}`: {}, `{"healthCheck":null}`: {null: true}, `{"healthCheck":{"port":1}}`: {value: true},
	} {
		var in TargetGroupInput
		if err := json.Unmarshal([]byte(body), &in); err != nil {
			t.Fatal(err)
		}
		if got := in.HealthCheck; got.Null() != want.null || (got.Value != nil) != want.value {
			t.Errorf("%s is read as %+v, want %+v", body, got, want)
		}
	}
}
