// etcd for tests: one member on loopback that does not wait for the disk.
package main

import (
	"flag"
	"log"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	dir := flag.String("data-dir", "", "where the data lies")
	client := flag.String("listen-client-urls", "", "where clients connect")
	peer := flag.String("listen-peer-urls", "", "where peers would connect")
	flag.Parse()

	config := embed.NewConfig()
	config.Dir = *dir
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	config.ListenClientUrls = []url.URL{parsed(*client)}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.ListenPeerUrls = []url.URL{parsed(*peer)}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	server, err := embed.StartEtcd(config)
	if err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	select {
	case <-stop:
		server.Close()
	case err := <-server.Err():
		log.Fatal(err)
	}
}

func parsed(text string) url.URL {
	address, err := url.Parse(text)
	if err != nil {
		log.Fatal(err)
	}
	return *address
}
