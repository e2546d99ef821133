-- What SQLite's planner assumes about sizes, written by hand: a few sources, a million rows. With these the
-- same query takes the same index on every machine and on the first day, and no ANALYZE has to read the file.
-- Numbers: rows in the index, then rows per distinct value of the first column, of the first two, and so on.
ANALYZE sqlite_schema;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('sources', 'sqlite_autoindex_sources_1', '4 1'),
  ('investment_rows', 'investment_rows_id', '1000000 1 1'),
  ('investment_rows', 'investment_rows_status', '1000000 250000 250000 20 10'),
  ('investment_rows', 'investment_rows_applied', '1000000 1000000 2 1'),
  ('investment_rows', 'investment_rows_newest', '1000000 2'),
  ('investment_rows', 'investment_rows_day', '1000000 1000000 1000000 1000 1000 2 2'),
  ('investment_rows', 'investment_rows_round', '1000000 1000000 100000 30000 30000 30000 20 20 20'),
  ('investment_rows', 'investment_rows_investor', '1000000 4 4 4 1 1 1'),
  ('identity_rows', NULL, '1000000'),
  ('history_rows', 'history_rows_record', '1000000 4 4 1'),
  ('history_rows', 'history_rows_validity', '1000000 1000000 50 1'),
  ('change_rows', 'change_rows_record', '1000000 4 4 1'),
  ('tick_rows', 'tick_rows_source', '100000 25000 1');
