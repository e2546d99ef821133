-- Sizes for the planner, as in 0003, of the indexes that hold only the rows their question is about.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('investment_rows', 'investment_rows_waiting', '100000 100000 2 1'),
  ('investment_rows', 'investment_rows_escrow', '250000 250000 80000 2 1');
