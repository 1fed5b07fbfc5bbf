"""What may leave a recall: personal data and secrets recognised and hidden, and the one door that all goes through."""
