package balancer

import (
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// The reasons of notices, which become events about Services, each with its texts. The page of each is in docs/events.
const (
	reasonUnsupported = "UnsupportedSetting"
	textNoRanges      = "Load balancers of IronCore cannot limit the source addresses: %s is not applied, and the " +
		"load balancer accepts all clients. Use a NetworkPolicy."
	textNoAffinity = "Load balancers of IronCore have no session affinity: spec.sessionAffinity ClientIP is not " +
		"applied between Nodes. Set it to None."
	textPublicAddress = "IronCore chooses the address of a public load balancer: spec.loadBalancerIP is not applied. " +
		"Remove it."
	textAddressInUse = "The address of a load balancer that is in use does not change: spec.loadBalancerIP is not " +
		"applied. Create the Service again to change the address."
	textSelectorLocal = "With --use-nic-selector, IronCore sends traffic to all Nodes, also to those without an " +
		"endpoint: spec.externalTrafficPolicy Local drops this traffic. Start the cloud controller manager with " +
		"--use-nic-selector=false, or set the policy to Cluster."

	// reasonAnnotation: the text of most mistakes is that of the registry of annotations.
	reasonAnnotation = "InvalidAnnotation"
	textKeptPublic   = "The annotation %s is %q. The program that this one replaces takes only \"true\" for true, " +
		"and has made the load balancer public: it stays public. Set the annotation to \"true\" to have it created " +
		"again as an internal one, with another address."
	textNotCreated = "%s Until it is corrected or removed, the load balancer is not created, and only its targets " +
		"change."

	reasonImmutable = "ImmutableSetting"
	textRecreated   = "The network of IronCore cannot change the type of a load balancer: LoadBalancer %s is " +
		"deleted, and created again with another address (%s). There is no traffic in the meantime. Update DNS, if " +
		"that is not automated."

	reasonNoInterface = "NoNetworkInterface"
	textNoInterface   = "The machines of these Nodes have no network interface in the Network %s/%s, so that they " +
		"get no traffic: %s. Attach one, or exclude the Nodes with the label %s."

	// reasonAnotherCluster: the load balancer of the Service has the UID of another cluster.
	reasonAnotherCluster = "LoadBalancerOfAnotherCluster"
)

// settingNotice returns a notice about what the Service asks for, whose format and values are those of fmt.Sprintf.
func settingNotice(reason, format string, values ...any) cloud.Notice {
	return cloud.Notice{Topic: cloud.Settings, Reason: reason, Message: fmt.Sprintf(format, values...)}
}
