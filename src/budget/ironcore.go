package budget

// IronCore returns the budgets with IronCore, in the order of the documentation.
func IronCore() []Budget {
	const (
		size = "200 Services on 1,000 nodes"
		ten  = "10 Services on 10 nodes, if IronCore chooses the destinations: "
	)
	return []Budget{
		calls("ironcore-restart-lists", 6, "a restart with "+size+": lists, one of each kind of object"),
		calls("ironcore-restart-calls", 0, "a restart: other requests to IronCore, and writes to Kubernetes"),
		calls("ironcore-quiet-calls", 0,
			"one hour without changes: requests to IronCore beside watches, and writes to Kubernetes"),
		calls("ironcore-unchanged-calls", 0,
			"a resync of 200 unchanged Services: requests to IronCore, and writes to Kubernetes"),
		calls("ironcore-initialise-calls", 3.1,
			"1,000 new nodes at once are initialised and get routes: requests beside lists for "+
				"each node, which are writes of two labels and of the route"),
		writes("ironcore-initialise-patches", 4,
			"1,000 new nodes at once are initialised and get routes: writes to Kubernetes for each node (two of the "+
				"node, two of its condition)"),
		writes("ironcore-create-writes", 2,
			"200 new Services at once: for each Service, its load balancer and routing"),
		writes("ironcore-create-selector-writes", 1,
			"200 new Services at once, if IronCore chooses the destinations: for each Service"),
		seconds("ironcore-create-seconds", 60,
			"200 new Services at once get addresses, if IronCore takes 30 s for each, at 50 requests a second"),
		writes("ironcore-nodes-writes", 1, "any number of nodes join or leave within a second: for each load balancer"),
		writes("ironcore-nodes-selector-writes", 0,
			"any number of nodes join or leave within a second, if IronCore chooses the destinations: for each load "+
				"balancer"),
		writes("ironcore-delete-writes", 2,
			"deletion of 200 Services at once: for each Service, its routing and load balancer"),
		calls("ironcore-delete-requests", 2,
			"deletion of 200 Services at once: all requests to IronCore for each Service, however long a finalizer "+
				"keeps its load balancer"),
		calls("ironcore-ten-start", 30, ten+"the start, all requests to IronCore without watches"),
		calls("ironcore-ten-create", 10, ten+"all Services are created"),
		calls("ironcore-ten-quiet", 0, ten+"305 s without changes"),
		calls("ironcore-ten-port", 1, ten+"a Service gets another port"),
		calls("ironcore-ten-join", 4, ten+"a node joins"),
		calls("ironcore-ten-leave", 6, ten+"a machine is deleted, and its Node"),
		calls("ironcore-ten-restart", 6, ten+"a restart"),
		calls("ironcore-ten-delete", 20, ten+"all Services are deleted"),
		measure("ironcore-start-cpu", 5, unitCPU, "a start with "+size),
		measure("ironcore-pass-cpu", 1, unitCPU, "a resync of all unchanged Services, with "+size),
		measure("ironcore-join-cpu", 15, unitCPU, "a node joins, and all load balancers get its address, with "+size),
		measure("ironcore-heap", 256, unitMemory, "live memory with "+size),
		measure("ironcore-memory", 512, unitMemory, "peak memory of the process with "+size),
		measure("ironcore-first-address", 1, unitTime,
			"a new Service gets its address, if IronCore needs no time, with "+size),
	}
}
