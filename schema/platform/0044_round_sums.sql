-- What a round raised can exceed the 64 bits of an integer. A sum is kept as two: of the upper parts of the amounts and of
-- their lower 32 bits, in one text. The triggers that forget a row stay: they are those of another table.
DROP TABLE round_numbers;

CREATE TABLE round_numbers (
  offering_no    INTEGER PRIMARY KEY REFERENCES offerings (no) ON DELETE CASCADE,
  raised         TEXT NOT NULL,
  investor_count INTEGER NOT NULL,
  reserved       TEXT NOT NULL
) STRICT;
