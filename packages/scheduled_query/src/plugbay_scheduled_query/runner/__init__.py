"""The child's program: runs other people's SQL, one statement at a time, under all limits."""
