"""What is done with agents, comparisons, their runs and cases: operations a user would recognise."""
