"""Labelled data from files: memories, questions, and the ids that answer them. The caller passes a path.

Every loader returns an `EvaluationData`: collections of memories, each in its own scope, with its questions.
"""
