# An example, which no test runs: four shares of one run as a batch job of Nomad. Each allocation takes
# its number from NOMAD_ALLOC_INDEX. Set start to a time that all allocations reach.
variable "start" { type = string }

job "memtide" {
  type = "batch"

  group "share" {
    count = 4

    # A share that starts a second time would repeat load that the servers have seen.
    restart { attempts = 0 }
    reschedule { attempts = 0 }

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    task "memtide" {
      driver = "exec"

      config {
        command = "/usr/bin/memtide"
        args = [
          "run", "--shard", "auto/4", "--start-at", var.start,
          "--server", "cache:11211", "--rate", "200k", "--duration", "60s",
          "--json", "${NOMAD_ALLOC_DIR}/data/${NOMAD_ALLOC_INDEX}.json",
        ]
      }

      resources {
        cores  = 2
        memory = 512
      }
    }
  }
}
