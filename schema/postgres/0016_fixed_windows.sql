-- Requests in the window that begins at a fixed time, such as the hour, beside those in the window that began with a
-- request. Null in rows of earlier versions.
ALTER TABLE budgets ADD COLUMN fixed_start text COLLATE "C";
ALTER TABLE budgets ADD COLUMN fixed_spent bigint;
