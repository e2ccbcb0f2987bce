"""SQL queries on a CRON schedule, with history, pages and Prometheus gauges."""
