"""What is known of the labels: embeddings and frequencies."""
