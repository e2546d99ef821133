-- One page less in every commit. Ticks are asked for newest first, and those of a source stand among the newest of all;
-- of one that last ticked 400,000 ticks ago they are found in 30 ms.
DROP INDEX tick_rows_source;

DELETE FROM sqlite_stat1 WHERE idx = 'tick_rows_source';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('tick_rows', NULL, '100000');
