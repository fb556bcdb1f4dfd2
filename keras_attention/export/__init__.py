"""A run into what is deployed: SavedModel, inference model, LiteRT files, each checked."""
