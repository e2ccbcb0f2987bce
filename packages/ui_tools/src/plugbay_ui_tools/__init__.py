"""Tables, counters, charts and an SQL editor for the pages of Plugbay plugins."""
