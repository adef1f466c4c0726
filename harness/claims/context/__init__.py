"""What one test works with: its servers, or programs of the grader, and how they ended."""
