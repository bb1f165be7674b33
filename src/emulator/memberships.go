package emulator

import "github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"

func (o *organisation) short() *wire.Organisation {
	if known, found := mentioned[wire.Organisation](o.store, o); found {
		return known
	}
	return mention(o.store, o, &wire.Organisation{Meta: o.nested()})
}

func (e *Emulator) listMemberships(c *call) (reply, error) {
	views := []wire.Membership{}
	for _, org := range c.user.organisations {
		views = append(views, wire.Membership{
			Identity: "om-" + org.Identity, CreatedAt: org.CreatedAt, Organisation: org.short(), Role: "OWNER",
			User: &wire.User{Subject: c.user.subject, Name: c.user.subject, CreatedAt: org.CreatedAt},
		})
	}
	return many(views), nil
}
