"""What pictures and pages share: where things stand, and how they are turned."""
