-- The data dictionary as a table. rosterd fills it after the migrations and when the dictionary changes.

CREATE TABLE data_dictionary (
  relation    text COLLATE "C" NOT NULL,
  position    integer NOT NULL,
  column_name text COLLATE "C",
  type        text COLLATE "C" NOT NULL,
  meaning     text COLLATE "C" NOT NULL,
  null_when   text COLLATE "C",
  PRIMARY KEY (relation, position)
);
