-- Who must stay forgotten: an investment's or an investor's id, in every source, until it is lifted.
-- A later page that brings the identity back is stored without it.
CREATE TABLE forgotten (
  id           TEXT PRIMARY KEY,
  forgotten_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row while bytes of removed identities may still stand in free pages of the file. Set by the triggers
-- below, so no way of removing a person can forget to ask for the scrub; taken by the scrub. It carries no
-- time, because a trigger would have to ask a clock of its own: the scrub writes the receipt.
CREATE TABLE identity_residue (
  only INTEGER PRIMARY KEY CHECK (only = 1)
) STRICT;

CREATE TRIGGER identity_rows_deleted AFTER DELETE ON identity_rows
WHEN NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

-- Only when something was replaced: an update that changes nothing leaves nothing behind.
CREATE TRIGGER identity_rows_updated AFTER UPDATE ON identity_rows
WHEN (old.name, old.legal_name, old.email, old.address_line, old.city, old.state, old.postal_code, old.country,
      old.bio, old.message, old.external_username, old.extra)
     IS NOT
     (new.name, new.legal_name, new.email, new.address_line, new.city, new.state, new.postal_code, new.country,
      new.bio, new.message, new.external_username, new.extra)
  AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER staged_rows_deleted AFTER DELETE ON staged_rows
WHEN old.identity IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER staged_rows_updated AFTER UPDATE ON staged_rows
WHEN old.identity IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER quarantine_rows_deleted AFTER DELETE ON quarantine_rows
WHEN old.body IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER quarantine_rows_updated AFTER UPDATE OF body ON quarantine_rows
WHEN old.body IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;
