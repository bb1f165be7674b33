// Package ironcore proves that the program works with IronCore: it runs against two control planes, the one of its
// cluster and one that serves IronCore (tools/ironcorelab). Its user there has the permissions of the chart's part
// cloud, and the audit log proves that all of them are used.
package ironcore
