"""Monitoring for operators: metrics, capacity alerts, readiness, and the lag of the index behind its sources."""
