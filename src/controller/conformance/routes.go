package conformance

func routesFollowNodes(r *rig) {
	pods := r.podsOf("b")
	want(r, "next hop", r.cloud.NextHop(pods), "b")
	r.must(r.cluster.Delete(r.node("b")))
	r.settle()
	want(r, "next hop without a Node", r.cloud.NextHop(pods), "")
	want(r, "next hop of the other Node", r.cloud.NextHop(r.podsOf("a")), "a")
}

func removedRoute(r *rig) {
	r.expected = []string{"RouteRestored"}
	pods := r.podsOf("b")
	r.cloud.DeleteRoute(pods)
	r.react()
	want(r, "next hop", r.cloud.NextHop(pods), "b")
}
