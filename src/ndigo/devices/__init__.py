"""Where a run is computed: a mesh of devices, what each has of a seed, and several processes that train one run."""
