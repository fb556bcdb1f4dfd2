"""Files into pairs of texts, in memory or streamed, with their gold alignment."""
