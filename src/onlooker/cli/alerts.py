"""Alarms on the terminal, beside the alerts that are sent."""

from onlooker.alerts.channels import Alerts
from onlooker.cli.output import print_problem
from onlooker.home.alarms import Alarm
from onlooker.home.events import Event


def print_and_send_alarm(alerts: Alerts, event: Event) -> None:
    """Print an alarm with its words, and send an alert about it."""
    print_problem(f"alarm: {Alarm.of(event.changes[0]).words} (event {event.sequence})")
    alerts.alarm(event)
