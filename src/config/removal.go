package config

// Day is the maximum of durations, in seconds: a longer one is probably a mistake in the unit.
const Day = 86400

// RemovalKeys returns the keys about the deletion of Nodes whose machines do not exist, which are the same with each
// cloud. Path is what they begin with, "instancesV2."; since is the first version with them.
func RemovalKeys(path, since string) []Key {
	return []Key{
		{Path: path + "removalGracePeriod", Since: since, Example: "300", Rule: Whole(1, Day, "seconds"),
			Effect: "The time, in seconds, that a machine must be missing before its node is deleted. The cloud must " +
				"report the machine as missing at the beginning and at the end of this time."},
		{Path: path + "maxRemovals", Since: since, Example: "10", Rule: Whole(0, 100, "percent"),
			Effect: "The percentage of all nodes that may be deleted within removalWindow. If more nodes would be " +
				"deleted, none is deleted until fewer are due or this value is raised. One node may always be " +
				"deleted. 0 disables the deletion of nodes."},
		{Path: path + "removalWindow", Since: since, Example: "3600", Rule: Whole(60, Day, "seconds"),
			Effect: "The time, in seconds, that maxRemovals applies to. In the first removalWindow after the program " +
				"starts, at most one node is deleted."},
		{Path: path + "dryRun", Since: since, Example: "true",
			Effect: "Reports by events and metrics which nodes would be deleted, and deletes none."},
	}
}
