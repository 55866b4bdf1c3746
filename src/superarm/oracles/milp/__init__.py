"""The mixed-integer oracle: the program of a round, what HiGHS makes of it, and relaxations that grow by cuts."""
