-- What left is asked for by week and by company, among versions of which nearly all were only superseded.
CREATE INDEX history_rows_gone ON history_rows (source_no, valid_to) WHERE ended_by <> 'update';
