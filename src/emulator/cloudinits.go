package emulator

import "github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"

// cloudInit is a template that machines can be created with.
type cloudInit struct {
	meta
	content string
}

func (e *Emulator) cloudInitOperations() map[string]handler {
	const path = "/v1/cloudinits"
	return map[string]handler{
		"GET " + path:              e.listCloudInits,
		"POST " + path:             e.createCloudInit,
		"GET " + path + "/{id}":    e.getCloudInit,
		"PUT " + path + "/{id}":    e.updateCloudInit,
		"DELETE " + path + "/{id}": e.deleteCloudInit,
	}
}

func (t *cloudInit) view() wire.CloudInit {
	return wire.CloudInit{
		Identity: t.Identity, Name: t.Name, Slug: t.Slug, Labels: t.Labels, Annotations: t.Annotations,
		CreatedAt: t.CreatedAt, Content: t.content,
	}
}

func (c *call) cloudInit() (*cloudInit, error) {
	t, found := c.org.cloudInits.find(c.PathValue("id"))
	if !found {
		return nil, notFound("cloud-init template", c.PathValue("id"))
	}
	return t, nil
}

func (e *Emulator) listCloudInits(c *call) (reply, error) {
	views := []wire.CloudInit{}
	for t := range c.org.cloudInits.all() {
		if c.filter.matches(t.Labels, t.traits) {
			views = append(views, t.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getCloudInit(c *call) (reply, error) {
	t, err := c.cloudInit()
	if err != nil {
		return reply{}, err
	}
	return one(t.view()), nil
}

func (e *Emulator) createCloudInit(c *call) (reply, error) {
	in, err := decode[wire.CloudInitInput](c)
	if err != nil {
		return reply{}, err
	}
	described := spec{name: kept(in.Name, ""), labels: in.Labels, annotations: in.Annotations}
	if err := checkMeta(described); err != nil {
		return reply{}, err
	}
	t := &cloudInit{content: kept(in.Content, "")}
	if t.content == "" {
		return reply{}, invalid("field \"content\" is required")
	}
	if err := c.org.admit(quotaCloudInits); err != nil {
		return reply{}, err
	}
	t.meta = newMeta("ci", described, c.org.cloudInits.hasSlug, c.now)
	c.org.cloudInits.add(t)
	return created(t.Identity, t.view()), nil
}

func (e *Emulator) updateCloudInit(c *call) (reply, error) {
	t, err := c.cloudInit()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.CloudInitInput](c)
	if err != nil {
		return reply{}, err
	}
	content := value(e.rules(), in.Content, t.content)
	if content == "" {
		return reply{}, invalid("field \"content\" is required")
	}
	if err := t.describe(e.rules(), in.Name, nil, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	t.content = content
	return changed(t.Identity, t.view()), nil
}

func (e *Emulator) deleteCloudInit(c *call) (reply, error) {
	t, err := c.cloudInit()
	if err != nil {
		return reply{}, err
	}
	c.org.cloudInits.remove(t)
	return done(t.Identity), nil
}
