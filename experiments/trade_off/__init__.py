"""How right and how fast are nearest neighbours among shapes, by each distance? The paper's figures 3, 6 and 7."""
