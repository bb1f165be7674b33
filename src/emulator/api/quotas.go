package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) quotaOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/quotas":                    srv.listQuotas,
		"GET /v1/quotas/{name}":             srv.getQuota,
		"POST /v1/quotas/increase-requests": srv.requestIncrease,
	}
}

func (srv *Server) listQuotas(c *call) (reply, error) {
	views := []wire.Quota{}
	for _, kind := range state.QuotaKinds() {
		views = append(views, c.org.Owner().Quota(kind))
	}
	return many(views), nil
}

func (srv *Server) getQuota(c *call) (reply, error) {
	kind, err := state.FindQuota(c.PathValue("name"))
	if err != nil {
		return reply{}, err
	}
	return one(c.org.Owner().Quota(kind)), nil
}

// requestIncrease notes a request. It is approved by whoever sets the limit.
func (srv *Server) requestIncrease(c *call) (reply, error) {
	in, err := decode[wire.QuotaIncreaseInput](c)
	if err != nil {
		return reply{}, err
	}
	kind, err := state.FindQuota(in.Name)
	if err != nil {
		return reply{}, apierror.Invalid("field \"name\": %v", err)
	}
	org := c.org.Owner()
	if limit := org.Limit(kind); in.NewMaxUsage <= limit {
		return reply{}, apierror.Invalid("field \"newMaxUsage\" must be more than the current limit %d, not %d", limit,
			in.NewMaxUsage)
	}
	request := wire.QuotaIncrease{
		Identity: object.NewIdentity("qir"), NewMaxUsageRequested: in.NewMaxUsage, RequestedReasonMessage: in.Reason,
		CreatedAt: c.now, UpdatedAt: c.now, Decision: state.DecisionPending,
	}
	org.Increases[in.Name] = append(org.Increases[in.Name], request)
	return created(request.Identity, request), nil
}
