"""Alerts to other programs: webhook, MQTT, Home Assistant."""
