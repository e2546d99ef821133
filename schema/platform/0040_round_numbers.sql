-- What the published records of a round add up to, kept from one question to the next and forgotten with the first of
-- them that changes: a page of the catalog asks for all rounds, and a round has tens of thousands of records.
CREATE TABLE round_numbers (
  offering_no    INTEGER PRIMARY KEY REFERENCES offerings (no) ON DELETE CASCADE,
  raised_cents   INTEGER NOT NULL,
  investor_count INTEGER NOT NULL,
  reserved_cents INTEGER NOT NULL
) STRICT;

CREATE TRIGGER round_numbers_added AFTER INSERT ON publications BEGIN
  DELETE FROM round_numbers WHERE offering_no = new.offering_no;
END;

CREATE TRIGGER round_numbers_changed
AFTER UPDATE OF offering_no, investor_no, status, committed_cents, raised_cents, visible ON publications BEGIN
  DELETE FROM round_numbers WHERE offering_no IN (old.offering_no, new.offering_no);
END;

CREATE TRIGGER round_numbers_removed AFTER DELETE ON publications BEGIN
  DELETE FROM round_numbers WHERE offering_no = old.offering_no;
END;
