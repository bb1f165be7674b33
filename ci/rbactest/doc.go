// Package rbactest proves that the roles of the chart are what the program uses: for every profile and set of
// controllers it runs the program from the rendered workload against a real API server and an emulated cloud, lets it
// do everything it can do, and compares the rendered rules with the API server's audit log. A permission that is
// granted and not used fails, unless it is listed as known to be unused, and one that is used and not granted.
//
// It also keeps docs/reference/rbac.md, which is made from the rules and the comments above them. After a change of
// either,
//
//	go test ./rbactest -run Page -update
//
// writes it anew.
package rbactest
