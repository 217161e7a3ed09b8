"""What happens when things break: kills, power cuts, full disks, frozen and racing processes."""
