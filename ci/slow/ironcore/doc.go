// Package ironcore proves that the program works with the API of IronCore as a real API server has it: the program
// runs against two control planes, the one of its cluster and one on which tools/ironcorelab plays IronCore. Its user
// there has the permissions of the chart's part cloud, and the audit log proves that all of them are used.
package ironcore
