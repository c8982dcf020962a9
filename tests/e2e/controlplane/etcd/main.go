// etcd for tests: one member on loopback that does not wait for the disk.
//
// The flags are those of the released etcd, so that one command line serves both.
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
	config := embed.NewConfig()
	flag.StringVar(&config.Dir, "data-dir", "", "where the data lies")
	flag.StringVar(&config.LogLevel, "log-level", "error", "what is told: debug, info, warn, error")
	flag.BoolVar(&config.UnsafeNoFsync, "unsafe-no-fsync", false, "do not wait for the disk")
	flag.StringVar(&config.InitialCluster, "initial-cluster", "", "members, as name=peer URL")
	clients := flag.String("listen-client-urls", "", "where clients connect")
	clientsTold := flag.String("advertise-client-urls", "", "where clients are told to connect")
	peers := flag.String("listen-peer-urls", "", "where peers would connect")
	peersTold := flag.String("initial-advertise-peer-urls", "", "where peers are told to connect")
	flag.Parse()

	config.ListenClientUrls = parsed(*clients)
	config.AdvertiseClientUrls = parsed(*clientsTold)
	config.ListenPeerUrls = parsed(*peers)
	config.AdvertisePeerUrls = parsed(*peersTold)

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

func parsed(text string) []url.URL {
	address, err := url.Parse(text)
	if err != nil {
		log.Fatal(err)
	}
	return []url.URL{*address}
}
