-- A field this version does not know may speak of a person, so it is erased with the person: these ask for the
-- scrub as the triggers on identity do.

-- A version that is replaced moves to history with its fields; nothing is gone until they are erased there. Only
-- a row of a first listing under way (no valid_from) is replaced without history.
CREATE TRIGGER current_extra_updated AFTER UPDATE OF extra ON investment_rows
WHEN old.extra IS NOT NULL AND old.extra IS NOT new.extra AND (new.extra IS NULL OR new.valid_from IS NULL)
  AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER current_extra_deleted AFTER DELETE ON investment_rows
WHEN old.extra IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER history_extra_updated AFTER UPDATE OF extra ON history_rows
WHEN old.extra IS NOT NULL AND old.extra IS NOT new.extra AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER history_extra_deleted AFTER DELETE ON history_rows
WHEN old.extra IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER staged_extra_updated AFTER UPDATE ON staged_rows
WHEN old.extra IS NOT NULL AND old.extra IS NOT new.extra AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

CREATE TRIGGER staged_extra_deleted AFTER DELETE ON staged_rows
WHEN old.extra IS NOT NULL AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;
