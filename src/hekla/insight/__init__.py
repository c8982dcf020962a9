"""Questions about a cluster and its scheduler, one package each.

capacity     How many nodes, or how much of a quota, are enough?
compare      Which configuration is better for a workload?
forecast     When will the jobs that wait start?
plan         Would a job start, and what would help?
replay       What did a recorded cycle decide, and would it decide so again?
shadow       Where would hekla decide differently from the scheduler at work?
"""
