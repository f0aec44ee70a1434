"""Many runs of one deal: sensitivity tables, break-even, Monte Carlo, attribution. Nothing is estimated."""
