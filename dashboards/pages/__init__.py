"""The web pages: plain HTML, CSS and ES modules, served as they are, without a build step.

They lie side by side and use relative links only, so that they work under any path prefix.
"""
