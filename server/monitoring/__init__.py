"""What an operator is told about a server: metrics, capacities that run out, how far the index lags behind."""
