-- The share of the companies that had the application installed when the world was made.
ALTER TABLE sandbox ADD COLUMN installed REAL NOT NULL DEFAULT 1;
