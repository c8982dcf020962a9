"""Forecasting: when pending jobs will start, by letting the present state run on."""
