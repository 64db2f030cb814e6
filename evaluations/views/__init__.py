"""Pages of this room: the list of comparisons, one comparison, starting one."""
