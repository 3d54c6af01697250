"""The web application: routers over a watched journal, and what keeps other people out of it.

It reads the journal as any reader does, in a process of its own, and asks the head for things through the commands
table; so it neither slows nor blocks a study. A shared service mounts the same routers.
"""
