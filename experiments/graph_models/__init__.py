"""Do generated graphs resemble real ones? The paper's Q5: GraphRNN, Erdős-Rényi and Barabási-Albert on ENZYMES."""
