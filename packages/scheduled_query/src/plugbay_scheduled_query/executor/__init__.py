"""The parent's side of the runners: who is lent, what is asked, and when it must end."""
