-- The data dictionary as a table. rosterd fills it after the migrations and when the dictionary changes.

CREATE TABLE data_dictionary (
  relation    TEXT NOT NULL,
  position    INTEGER NOT NULL,
  column_name TEXT,
  type        TEXT NOT NULL,
  meaning     TEXT NOT NULL,
  null_when   TEXT,
  PRIMARY KEY (relation, position)
) STRICT;
