// All programs of a Kubernetes cluster in one: etcd, the API server, the controllers, the scheduler,
// kubelet and kubectl. It is the one whose name it is called by. cargo xtask kubernetes builds it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	}
	name := filepath.Base(os.Args[0])
	switch {
	case name == "etcd":
		etcdmain.Main(os.Args)
	case name == "kubectl":
		if cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()) != nil {
			os.Exit(1)
		}
	case commands[name] != nil:
		os.Exit(cli.Run(commands[name]()))
	default:
		fmt.Fprintf(os.Stderr, "%s is no program of a cluster: call this by a link named etcd, kubectl or kubelet, or\n"+
			"kube-apiserver, kube-controller-manager or kube-scheduler\n", name)
		os.Exit(2)
	}
}
