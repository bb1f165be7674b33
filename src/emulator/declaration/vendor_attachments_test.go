package declaration

import (
	"net/http"
	"testing"
	"time"
)

// element is the object with an identity in a list of an object, or nil.
func element(object any, list string, identity any) any {
	all, _ := at(object, list).([]any)
	for _, one := range all {
		if at(one, "identity") == identity {
			return one
		}
	}
	return nil
}

// atOnce sends what a tool sends without waiting for what was changed before, which is refused during a delay of that.
func (c *tool) atOnce(delay time.Duration, method, path string, body any, want int) any {
	c.Helper()
	if delay > 0 {
		c.expect(method, path, body, http.StatusConflict)
		<-time.After(delay)
	}
	return c.expect(method, path, body, want)
}

// A volume shows its attachment as soon as that is answered. The provider waits neither for a new volume nor for one
// that it detaches.
func TestTerraformVolumeAttachment(t *testing.T) {
	replay(t, func(c *tool) {
		c.setUp([]prop{{Name: "machine", Path: "/v1/machines",
			Body: values{"name": "m", "subnet": "$subnet", "machineType": "pgp-small"}}})
		body := values{"name": "acc", "description": "", "size": 10, "cloudRegionIdentity": "nl-01",
			"volumeTypeIdentity": "Block"}
		identity, _ := at(c.expect(http.MethodPost, "/v1/volumes", body, http.StatusCreated), "identity").(string)
		volume, underway := "/v1/volumes/"+identity, c.delays.VolumeCreate
		for _, description := range []string{"", "d"} {
			holder := values{"resourceType": "cloud_virtual_machine", "resourceIdentity": c.identity("machine")}
			made := c.atOnce(underway, http.MethodPost, volume+"/attach",
				merged(holder, values{"description": description}), http.StatusOK)
			shown := c.expect(http.MethodGet, volume, nil, http.StatusOK)
			read := element(shown, "attachments", at(made, "identity"))
			if at(read, "attachedToIdentity") != c.identity("machine") || at(read, "description") != description ||
				at(read, "attachedToResourceType") != "cloud_virtual_machine" || empty(at(read, "serial")) {
				c.Errorf("attached %v, read %v", made, read)
			}
			c.expect(http.MethodPost, volume+"/detach", holder, http.StatusNoContent)
			underway = c.delays.VolumeDetach
		}
		c.atOnce(underway, http.MethodDelete, volume, nil, http.StatusNoContent)
		c.goes(volume)
		c.gone(c.placed("/v1/machines/$machine"))
	})
}

// Each target is attached and detached by itself. The identity of an attachment is read in the target group.
func TestTerraformTargetGroupAttachment(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/loadbalancer-target-groups",
			values{"name": "g", "vpc": "$vpc", "targetPort": 80, "protocol": "tcp"})
		attachments := []string{}
		for _, name := range []string{"a", "b"} {
			c.setUp([]prop{{Name: name, Path: "/v1/machines",
				Body: values{"name": name, "subnet": "$subnet", "machineType": "pgp-small"}}})
			made := c.expect(http.MethodPost, path+"/attach", values{"serverIdentity": c.identity(name)},
				http.StatusCreated)
			identity, _ := at(made, "identity").(string)
			attachments = append(attachments, identity)
			c.reads(path, values{"loadbalancerTargetGroupAttachments.*.identity": attachments})
		}
		c.reads(path, values{
			"loadbalancerTargetGroupAttachments.*.virtualMachineInstance.identity": []string{"$a", "$b"}})
		for i, identity := range attachments {
			c.expect(http.MethodDelete, path+"/detach/"+identity, nil, http.StatusNoContent)
			c.reads(path, values{"loadbalancerTargetGroupAttachments.*.identity": attachments[i+1:]})
		}
		c.gone(path)
		for _, name := range []string{"a", "b"} {
			c.gone(c.placed("/v1/machines/$" + name))
		}
	})
}
